PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PYTEST = $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist worksteal

.PHONY: demo test test-slow lint clean

# The first look: sample gain of eight learners on simulated data.
demo: $(VENV)/.light
	$(BIN)/benchopt run . --config configs/quick.yml --no-display --output quick
	$(BIN)/python -m benchmark_utils.analysis.report
	@echo; echo "Result page: $$(ls -t $(CURDIR)/outputs/*_quick*.html | head -n 1)"

test: $(VENV)/.test
	$(PYTEST) -m "not slow"

# Statistical guarantees, by simulation.
test-slow: $(VENV)/.test
	$(PYTEST) -m slow

lint: $(VENV)/.test
	$(BIN)/ruff check .

$(VENV)/.light: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	touch $@

$(VENV)/.test: requirements-test.txt $(VENV)/.light
	$(BIN)/pip install --quiet --requirement requirements-test.txt
	touch $@

clean:
	rm -rf $(VENV) __cache__ outputs
