# Everything a person or CI runs. On a fresh machine `make demo` and `make test` need only python3, apt and root.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
SIM := lab/simulator
PLUGIN := deploy/runtime/sglang_ddtree
WHEELS := build/wheels/.stamp
MONITORING := build/monitoring/.ready
export PATH := $(CURDIR)/build/monitoring/usr/bin:$(PATH)
unexport PYTHONDONTWRITEBYTECODE  # or each of hundreds of processes would compile all modules again

.PHONY: help setup wheels demo demo-down test unit processes versions torch hosts kernel faults check fix docs lock lab-up lab-down clean

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready wheels  ## virtual environment from the hash lock, wheels of the plugin and the simulator

.venv/.ready: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { echo "installing python3-venv (apt)"; apt-get update -qq && apt-get install -y -qq python3-venv; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing the locked dependencies"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

wheels: $(WHEELS)

$(WHEELS): .venv/.ready $(shell find $(SIM)/src $(PLUGIN)/src ddtree_ops/units -name '*.py' 2>/dev/null) $(SIM)/pyproject.toml $(PLUGIN)/pyproject.toml
	@echo "building the wheels"
	@mkdir -p build/wheels && rm -f build/wheels/*.whl
	@$(BIN)/python -m build --wheel --no-isolation --outdir build/wheels $(PLUGIN) >build/wheels/build.log 2>&1 || { cat build/wheels/build.log; exit 1; }
	@$(BIN)/python -m build --wheel --no-isolation --outdir build/wheels $(SIM) >>build/wheels/build.log 2>&1 || { cat build/wheels/build.log; exit 1; }
	@touch $@

demo: setup  ## the whole story on two real lab hosts: deploy, serve, break, roll back, explain
	@lab/demo.sh

demo-down: lab-down  ## stop and clean the lab hosts

lab-up:  ## boot the lab hosts ct200 and b300 (root)
	@lab/hosts.sh up

lab-down:  ## stop and clean the lab
	@lab/hosts.sh down

test: setup check unit processes torch hosts  ## everything: static checks, unit tests, tests on real lab hosts

unit: setup build/sources/.ready  ## tests of the code alone (a minute)
	DDTREE_SOURCES=$(CURDIR)/build/sources $(BIN)/python -m pytest -m "not processes and not hosts and not versions" -n 2 --dist loadfile

processes: setup build/sources/.ready $(MONITORING)  ## tests that start processes: the command, the launcher, the simulator, browsers
	DDTREE_SOURCES=$(CURDIR)/build/sources $(BIN)/python -m pytest -m "processes and not hosts" -n 4 --dist loadfile  # they mostly wait

$(MONITORING): requirements/monitoring.sh
	@echo "fetching Prometheus, Alertmanager, their exporters and Chromium for tests"
	@requirements/monitoring.sh $(CURDIR)/build/monitoring

build/sources/.ready: tests/runtime/versions.txt tests/runtime/versions.py .venv/.ready
	@echo "fetching the SGLang source tree that tests trace parameters in"
	@$(BIN)/python -m tests.runtime.versions 0.5.13.post1
	@touch $@

versions: setup  ## the golden cases of `params trace` on other SGLang versions and on vLLM (fetches 330 MB once)
	$(BIN)/python -m tests.runtime.versions
	DDTREE_SOURCES=$(CURDIR)/build/sources $(BIN)/python -m pytest -m versions tests/runtime

torch: setup build/torch/has  ## the DDTREE tests with a torch for CPUs: kernels in Triton's interpreter, SGLang's own classes
	@test ! -e build/torch/has || DDTREE_TORCH_HAS="$$(cat build/torch/has)" PYTHONPATH=build/torch/site $(BIN)/python -m pytest tests/ddtree -n 2 --dist loadfile

build/torch/has: requirements/torch.sh requirements/torch-cpu.txt requirements/torch.txt .venv/.ready
	@echo "installing torch for CPUs, Triton and SGLang's modules for tests"
	@requirements/torch.sh $(CURDIR)/$(BIN)/python $(CURDIR)/build/torch

hosts: setup $(MONITORING)  ## tests on real systemd hosts, booted and cleaned by the tests (root)
	$(BIN)/python -m pytest tests/hosts tests/faults -n 6  # in the order of tests/hosts/lanes.py

kernel: setup $(MONITORING)  ## only the alerts on what a kernel of its own can show: an Xid, an OOM kill (root, an emulated machine)
	$(BIN)/python -m pytest tests/hosts/test_monitoring_kernel.py

faults: setup  ## faults at every step of a deploy on real lab hosts, the whole matrix (root, about half an hour)
	DDTREE_FAULTS=all $(BIN)/python -m pytest tests/faults -n 3 --dist loadfile; code=$$?; $(BIN)/python -m tests.faults.page; exit $$code

check: setup  ## ruff, mypy --strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: setup  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup  ## renew the generated pages
	$(BIN)/python docs/write_reference.py
	$(BIN)/python docs/write_findings.py
	$(BIN)/python docs/write_alerts.py
	$(BIN)/python -m benchmarks.report

lock: .venv/.ready  ## renew the hash locks of the controller
	$(BIN)/python -m pip install --quiet uv
	cd requirements && for f in runtime dev; do ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $$f.in -o $$f.txt; done
	cd requirements && ../$(BIN)/uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 --only-binary :all: --override torch-override.in --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" torch.in -o torch.txt
	cd deploy/locks && sed '/^[^#]/,$$d' exporter.txt >exporter.head && ../../$(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header exporter.in -o exporter.txt && cat exporter.head exporter.txt >exporter.new && mv exporter.new exporter.txt && rm exporter.head

clean:
	rm -rf build dist .venv
