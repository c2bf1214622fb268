"""The public interface of a simulation besides stepping it, one module per subject."""
