"""The engines that move dynamic bodies, behind one port (`world/ports.py`): PyBullet and MuJoCo."""
