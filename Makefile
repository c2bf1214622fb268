# `make help` lists the targets. The tools live in $(VENV); PYTHON is only used to create it.
SHELL := bash
PYTHON ?= python3
VENV ?= .venv
PEER_VENV ?= .venv-peer
AUDIT_VENV ?= .venv-audit
CONSTRAINED_VENV ?= .venv-constrained
# CONSTRAINTS=constraints.txt installs the versions that were tested last, instead of the newest.
CONSTRAINTS ?=
EXTRAS ?= dev
CONFIG ?= config/demo.yaml
# Processes that run tests, each with whole files and a ROS domain of its own. JOBS=0: in this one, as --pdb needs.
JOBS ?= 2
ARGS ?=

RUN := $(VENV)/bin/
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.ready-demo
DOCS_READY := $(VENV)/.ready-docs
PEER_READY := $(PEER_VENV)/.ready
AUDIT_READY := $(AUDIT_VENV)/.ready
# A distribution of its own, with targets of the same names; here it shares the virtual environment.
POCKET := $(MAKE) --no-print-directory -C src/pocket_ros VENV=$(abspath $(VENV)) JOBS=$(JOBS)

# Tests start hundreds of processes: without kept byte code each compiles the whole package anew, and takes twice as long to start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help audit sbom constraints venv install lint format types test quick test-fleet_sim test-pocket_ros test-slow test-slow-fleet_sim test-slow-pocket_ros test-whole-fleet_sim test-whole-pocket_ros test-constraints test-constrained test-pythons bench bench-parts bench-ros faults fuzz mutants structure soak pictures demo docs run release fresh clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Knobs: PYTHON=$(PYTHON) VENV=$(VENV) JOBS=$(JOBS) PEER_VENV=$(PEER_VENV) CONFIG=$(CONFIG) ARGS=\"$(ARGS)\" (arguments for pytest, bench, demo or run)"

venv: $(RUN)python  ## Create the virtual environment

install: $(READY)  ## Install fleet_sim, editable, and its tools into the virtual environment

$(RUN)python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "fleet_sim needs Python 3.10 or newer: make PYTHON=python3.11 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || $(PYTHON) -m virtualenv $(VENV) || { rm -rf $(VENV); \
	  echo "cannot create $(VENV): install the venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }

# pocket_ros is on no index: it is installed from its folder first, and then is what the extra `pocket` asks for.
$(READY): $(RUN)python setup.cfg setup.py src/pocket_ros/pyproject.toml
	$(POCKET) install
	$(RUN)python -m pip install --disable-pip-version-check --editable '.[$(EXTRAS),pocket]' $(addprefix --constraint ,$(CONSTRAINTS))
	@touch $@

# A try needs no tools. What it imports is compiled to byte code then: most of what is installed is never imported.
$(DEMO_READY): $(RUN)python setup.cfg setup.py src/pocket_ros/pyproject.toml
	PIP_NO_COMPILE=1 $(RUN)python -m pip install --disable-pip-version-check --editable src/pocket_ros --editable '.[camera,pocket]'
	@touch $@
INSTALLED := $(or $(wildcard $(READY)),$(DEMO_READY))

lint: $(READY)  ## Check style, formatting and spelling
	$(RUN)ruff check .
	$(RUN)ruff format --check .
	$(RUN)codespell
	$(POCKET) lint

format: $(READY)  ## Rewrite the sources in the project's format
	$(RUN)ruff check --fix .
	$(RUN)ruff format .
	$(POCKET) format

types: $(READY)  ## Check the types (mypy, strict)
	$(RUN)mypy
	$(POCKET) types

# Arguments choose among fleet_sim's tests; `make -C src/pocket_ros test ARGS=...` among the others.
test: test-fleet_sim $(if $(ARGS),,test-pocket_ros)  ## Run every test but the slow ones, of fleet_sim and of pocket_ros (with ARGS: of fleet_sim)

test-fleet_sim: $(READY)
	$(RUN)python -m pytest -m "not slow" -n $(JOBS) --dist loadfile $(ARGS)

test-pocket_ros: $(READY)
	$(POCKET) test

quick: $(READY)  ## Test what a change touches, the nearest first, in less than a minute (ARGS="--since main --list")
	$(RUN)python test/quick.py -n $(JOBS) $(ARGS)

# Both halves of a suite in one run, for CI: two processes wait for each other at one end, not at two.
test-whole-fleet_sim: $(READY)
	$(RUN)python -m pytest -n $(JOBS) --dist loadfile --durations 40 $(ARGS)

test-whole-pocket_ros: $(READY)
	$(POCKET) test-whole

test-slow: test-slow-fleet_sim $(if $(ARGS),,test-slow-pocket_ros)  ## Run the slow tests

test-slow-fleet_sim: $(READY)
	$(RUN)python -m pytest -m slow -n $(JOBS) --dist loadfile $(ARGS)

test-slow-pocket_ros: $(READY)
	$(POCKET) test-slow

# What tells fastest that a version of a dependency does other things than expected: the same bits, names, files, readers, ROS.
CONTRACTS := test/test_public_api.py test/test_output.py test/test_scenarios.py test/base/config test/base/settings test/models/meshes test/swarm/test_contract.py \
  test/sensing/sensors/test_lidar.py test/learning/envs/test_contracts.py test/ros/test_templates.py

# What the tests have run with already needs no second look.
test-constraints: $(READY)  ## Verify the versions in constraints.txt, in a virtual environment of their own, with the fastest tests
	@if grep -v '^#' constraints.txt | grep -qvxFf <($(RUN)python -m pip freeze --disable-pip-version-check); \
	then $(MAKE) --no-print-directory test-constrained; else echo "make test-constraints: $(VENV) has just these versions"; fi

# With the hashes in constraints.lock; then the project itself, which asks no index for anything.
test-constrained:
	$(MAKE) --no-print-directory venv VENV=$(CONSTRAINED_VENV)
	$(CONSTRAINED_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement constraints.lock
	$(CONSTRAINED_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable ./src/pocket_ros --editable .
	$(CONSTRAINED_VENV)/bin/fleet-sim verify
	$(CONSTRAINED_VENV)/bin/python -m pytest -q -m "not slow" $(CONTRACTS) $(ARGS)

test-pythons:  ## Run the tests on each Python from 3.10 to 3.14 that is found (PYTHONS="3.12 3.14": on these)
	.ci/pythons $(PYTHONS)

bench: $(READY) $(PEER_READY)  ## Compare with pybullet-fleet, side by side on this machine (ARGS=--quick: a minute)
	$(RUN)python bench/run.py --peer $(PEER_VENV)/bin/python $(ARGS)

PARTS := joints kinematics crowd sensors camera swarm envs

bench-parts: $(READY)  ## Measure joints, kinematics, a crowd of URDF robots, sensors, cameras, swarms and environments on this machine
	@for part in $(PARTS); do echo "== $$part"; $(RUN)python bench/$$part.py || exit 1; done

$(PEER_READY): bench/requirements-peer.txt
	@$(PYTHON) -m venv $(PEER_VENV) || $(PYTHON) -m virtualenv $(PEER_VENV)
	$(PEER_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements-peer.txt
	@touch $@

faults: $(READY)  ## Kill, fill disks, flood and hang, and see what is promised (the slow ones too)
	$(RUN)python -m pytest test/faults $(ARGS)

soak: $(READY)  ## Keep a node, its clients and the library busy, and judge what grows (ARGS="--minutes 120")
	$(RUN)python test/soak/run.py $(ARGS)

fuzz: $(READY)  ## Feed broken inputs to all that reads what others made (ARGS="--minutes 60"); by coverage with the extra fuzz
	$(RUN)python test/fuzz/run.py $(ARGS)

mutants: $(READY)  ## Make small changes of the sources by a seed and count which the tests notice (ARGS="--seed 7 --count 100 robots/motion")
	$(RUN)python test/mutants/run.py $(ARGS)

structure: $(READY)  ## Print how large the package is, by room, and how it hangs together
	$(RUN)python test/structure.py
	$(RUN)python test/walks.py

bench-ros: $(READY)  ## Measure the ROS node on this machine (needs ROS 2 or pocket_ros)
	$(RUN)python bench/ros.py $(ARGS)

pictures: $(READY)  ## Make the pictures of the documents
	$(RUN)python examples/pictures.py $(ARGS)
	$(RUN)python examples/gallery.py $(ARGS)

demo: $(INSTALLED)  ## Launch the warehouse on ROS 2, or pocket_ros, and show its 20 robots (ARGS="--duration 60")
	$(RUN)python examples/warehouse_demo.py $(ARGS)

docs: $(DOCS_READY)  ## Build the documents as a site, in dist/docs
	NO_MKDOCS_2_WARNING=1 $(RUN)python -m mkdocs build --strict --quiet

$(DOCS_READY): $(READY)
	$(RUN)python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

release: $(READY)  ## Build both distributions, check them as their users get them, and write what a person has to push
	VENV=$(VENV) .ci/release

fresh:  ## Run make demo and make test in a new, minimal Debian (needs root and debootstrap)
	.ci/fresh

run: $(INSTALLED)  ## Run a scenario without ROS and print what happened (with a window where there is a display)
	$(RUN)fleet-sim run $(CONFIG) $(if $(DISPLAY),--gui,--headless) $(ARGS)

$(AUDIT_READY):
	@$(PYTHON) -m venv $(AUDIT_VENV)
	$(AUDIT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'pip-audit>=2.7' 'cyclonedx-bom>=4'
	@touch $@

# Asked first for what it must find, the flaws of an old pip: an index without a database of flaws answers with none.
# Without that there is nothing to compare with: it is said, and is no failure.
AUDIT := $(AUDIT_VENV)/bin/pip-audit --no-deps --disable-pip --progress-spinner off --requirement
audit:  ## Look for known vulnerabilities of the versions in constraints.txt
	@if $(MAKE) --no-print-directory $(AUDIT_READY) && $(AUDIT) <(echo pip==23.0) --format json 2>/dev/null | grep -q '"fix_versions"'; \
	then $(AUDIT) constraints.txt --strict; \
	else echo "make audit: skipped, no database of vulnerabilities can be reached from here"; fi

sbom: $(READY) $(AUDIT_READY)  ## Write the bill of materials of what is installed (dist/fleet_sim.cdx.json)
	@mkdir -p dist
	$(AUDIT_VENV)/bin/cyclonedx-py environment $(RUN)python --output-file dist/fleet_sim.cdx.json

constraints: $(READY)  ## Write the versions that are installed, once they are tested, to constraints.txt, and with hashes to the .lock files
	@{ echo "# The versions the tests passed with, on Python 3.11: make install CONSTRAINTS=constraints.txt"; \
	  $(RUN)python -m pip freeze --exclude-editable --disable-pip-version-check | grep -v ' @ '; } > constraints.txt
	$(RUN)python .ci/lock

clean:  ## Remove the virtual environment and everything that was built
	rm -rf $(VENV) $(PEER_VENV) $(AUDIT_VENV) $(CONSTRAINED_VENV) build install log dist demo soak fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name '*.egg-info' -type d -prune -exec rm -rf {} +
