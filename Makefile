# Everything a person or CI runs. On a fresh machine `make demo` and `make test` need only python3, apt and root.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
SIM := lab/simulator
PLUGIN := deploy/runtime/sglang_ddtree
WHEELS := build/wheels/.stamp

.PHONY: help setup wheels demo demo-down test unit hosts check fix docs lock lab-up lab-down clean

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

test: setup check unit hosts  ## everything: static checks, unit tests, tests on real lab hosts

unit: setup  ## tests that need nothing
	$(BIN)/python -m pytest -m "not hosts" -n 2 --dist loadfile

hosts: setup  ## tests on real systemd hosts, booted and cleaned by the tests (root)
	$(BIN)/python -m pytest -m hosts -n 2 --dist loadfile

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

lock: .venv/.ready  ## renew the hash locks of the controller
	$(BIN)/python -m pip install --quiet uv
	cd requirements && for f in runtime dev; do ../$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $$f.in -o $$f.txt; done

clean:
	rm -rf build dist .venv
