# All tasks by name; `make demo` and `make test` install what they need into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

EXPERIMENTS := gaussian tolerance uniform cauchy speed famafrench
PRESET ?= quick
JOBS ?= 1

FORECASTS := benchmarks.forecasts
SMALL := yacht boston energy concrete wine

.PHONY: demo test lint unit soak bench peers quality forecasts experiments experiments-quick $(EXPERIMENTS) pages clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

test: lint unit

lint: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/pyrefly check
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell

unit: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses=auto --dist=worksteal

# More of what quick tests check: many interrupts, all candidates, larger samples.
soak: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses=auto --dist=worksteal -m long

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/programs.py
	$(BIN)/python benchmarks/grid.py
	$(BIN)/python benchmarks/distributions.py
	$(BIN)/python benchmarks/sos.py
	$(BIN)/python benchmarks/embedding.py
	$(BIN)/python benchmarks/logistic.py
	$(BIN)/python benchmarks/likelihood.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/selection.py
	$(BIN)/python benchmarks/projection.py
	$(BIN)/python benchmarks/fitted.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python -m benchmarks.pivots
	$(BIN)/python -m $(FORECASTS) --sections times --results results/bench --limit 600

# The paper's experiments at its sizes, which takes days; interrupted studies resume.
experiments: $(VENV)/.dev
	$(BIN)/python -m experiments all --preset full --jobs $(JOBS)

experiments-quick: $(VENV)/.dev
	$(BIN)/python -m experiments all --preset quick --jobs $(JOBS)

# One of them, as in `make gaussian PRESET=full JOBS=4`.
$(EXPERIMENTS): $(VENV)/.dev
	$(BIN)/python -m experiments $@ --preset $(PRESET) --jobs $(JOBS)

# The comparison with other packages.
peers: $(VENV)/.peers
	$(BIN)/python -m benchmarks.peers --preset $(PRESET)

# Evaluation of proper distributions against other packages; an interrupted one resumes.
quality: PRESET = evaluation
quality: $(VENV)/.peers
	$(BIN)/python -m benchmarks.quality --preset $(PRESET) --jobs $(JOBS)

# Forecasts beside other packages, each in an environment that it can share; it resumes.
forecasts: $(VENV)/.peers $(VENV)-treeffuser/.peers $(VENV)-engression/.peers
	$(BIN)/python -m $(FORECASTS) --jobs $(JOBS)
	$(VENV)-treeffuser/bin/python -m $(FORECASTS) --jobs $(JOBS) --sections scores \
		--sets $(SMALL) --methods treeffuser --limit 900
	$(VENV)-engression/bin/python -m $(FORECASTS) --jobs $(JOBS) --sections scores \
		--sets $(SMALL) --methods engression --limit 900
	$(BIN)/python -m $(FORECASTS) --page

# Pages and figures of docs/results, from its tables.
pages: $(VENV)/.dev
	$(BIN)/python -m experiments pages
	$(BIN)/python -m $(FORECASTS) --page

clean:
	rm -rf $(VENV) $(VENV)-treeffuser $(VENV)-engression results demo.png build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Dependency groups need a recent pip; then the packages of each task, at tested versions.
$(VENV)/.pip: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --upgrade pip
	touch $@

$(VENV)/.installed: $(VENV)/.pip pyproject.toml
	$(PIP) install --constraint constraints.txt --editable '.[plot]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --group dev
	touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --group bench
	touch $@

$(VENV)/.peers: $(VENV)/.dev
	$(PIP) install --constraint constraints.txt --group peers
	$(PIP) install --constraint constraints.txt --no-deps xgboost-distribution  # else for GPUs
	touch $@

# What excludes the packages above; these read data and write tables alone.
$(VENV)-treeffuser/.peers: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-treeffuser
	$(VENV)-treeffuser/bin/python -m pip --quiet install --upgrade pip
	$(VENV)-treeffuser/bin/python -m pip --quiet install --group treeffuser
	touch $@

$(VENV)-engression/.peers: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-engression
	$(VENV)-engression/bin/python -m pip --quiet install --upgrade pip
	$(VENV)-engression/bin/python -m pip --quiet install --constraint constraints.txt \
		--group engression
	touch $@
