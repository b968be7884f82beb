# Everything runs in .venv, which the first target makes; `make demo` and `make test` are all a fresh clone needs.
PYTHON ?= python3
# make test TORCH=2.15.0 tests with that PyTorch, in an environment of its own.
VENV := .venv$(TORCH:%=-torch-%)
BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
SITE_READY := $(VENV)/.site
CONSTRAINTS := $(VENV)/constraints.txt
SITE ?= build/site
SPHINX := $(BIN)/python -m sphinx
# What installs. uv has an option for PyTorch's CPU build: INSTALL='uv pip install --python .venv --torch-backend cpu'
INSTALL ?= $(BIN)/python -m pip install
# Bytecode is written even where the environment says not to: the tests start many processes, and each would compile
# regard anew.
unexport PYTHONDONTWRITEBYTECODE
# Two worker processes of one thread each suit two cores; a larger machine takes more with WORKERS=8.
# Whoever has nothing left takes from the others: the slow tests stand side by side.
WORKERS ?= 2
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
TEST := $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-exhaustive test-gpu check format bench bench-gpu docs site site-pages models dist clean

help:  ## Say what there is
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

$(CONSTRAINTS): constraints.txt
	@mkdir -p $(VENV)
	@sed 's/^torch==.*/$(or $(TORCH:%=torch==%),&)/' constraints.txt > $@

$(CORE): pyproject.toml $(CONSTRAINTS)
	@echo "Setting up $(VENV) for using regard: PyTorch is most of it."
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --constraint $(CONSTRAINTS) --editable .
	@touch $@

$(READY): $(CORE)
	@echo "Adding what training, tests and docs need."
	$(INSTALL) --constraint $(CONSTRAINTS) 'pip>=25.1'  # --group is new in 25.1
	$(INSTALL) --constraint $(CONSTRAINTS) --editable '.[all]' --group dev
	@touch $@

# The pages are made anew, whatever wrote those that are there.
demo: $(CORE)  ## Tag the notes' two sentences, show what was attended to and what mattered, write a page
	@$(BIN)/regard see english-pos "I saw a saw." --html demo/english.html --force
	@$(BIN)/regard see chinese-pos "我 一 进门 就 看见 常威 在 打 来福" --no-map --html demo/chinese.html --force

test: $(READY)  ## Every law of the suite on a sample of its cases, without what is marked slow
	$(TEST) --sample -m "not slow and not exhaustive"

test-all: test  ## Every law on every case, and the slow tests: those of `make test`, then the rest
	$(TEST) --rest -m "not exhaustive"

test-exhaustive: $(READY)  ## The operator on the whole product of its parts, and what else takes longest: hours
	$(TEST) -m exhaustive

# On a machine with a GPU the torch that is there is the one to test: nothing is installed but what is missing. With
# pytest-xdist, WORKERS processes share the GPU (make test-gpu WORKERS=14). pytest-benchmark, which some images bring,
# warns beside xdist, and a warning is an error here.
SHARING_IT = $(shell $(PYTHON) -c "import xdist; print('-n $(WORKERS) --dist worksteal')" 2>/dev/null)
test-gpu:  ## The operator's contract on a GPU, with the torch that this Python has
	$(PYTHON) -c "import torch; assert torch.cuda.is_available(), 'this needs a GPU that torch can see'"
	$(ONE_THREAD) PYTHONPATH="src$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON) -m pytest $(SHARING_IT) -p no:benchmark -q \
		tests/attention -m "not slow and not exhaustive" --device cuda

# Both tables within five minutes. Each row is saved when it is measured, so a run that is cut off keeps what it has; of
# the second table the rows that were never measured come first, and those that time leaves out are named.
bench-gpu:  ## The operator beside its peers on a GPU, with the torch that this Python has
	PYTHONPATH="src$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON) benchmarks/gpu.py --within 190; short=$$?; \
	PYTHONPATH="src$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON) benchmarks/peers.py --device cuda --seconds 1 --within 80; \
	exit $$((short + $$?))

check: $(READY)  ## Format, lint, types, architecture, doctests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(ONE_THREAD) $(BIN)/python -m pytest -q tests/test_architecture.py
	$(TEST) -q --doctest-modules src --ignore src/regard/attention/engines/triton

format: $(READY)  ## Put the code into the house's form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## Measure, and write benchmarks/results; `make docs` then puts the tables into the documents
	$(INSTALL) --quiet --constraint $(CONSTRAINTS) --requirement benchmarks/requirements.txt
	$(BIN)/python benchmarks/run.py

docs: $(READY)  ## Generate what is generated in the docs, and run their code blocks
	$(BIN)/python docs/generate.py
	$(ONE_THREAD) $(BIN)/python -m pytest -q tests/docs

site: $(SITE_READY)  ## Build the pages and the API reference as a site, English and Chinese, and check its links
	$(ONE_THREAD) $(MAKE) --no-print-directory site-pages
	REGARD_SITE=$(SITE) $(BIN)/python -m pytest -q tests/docs/test_site.py
	@echo "The site is $(SITE)/index.html"

$(SITE_READY): $(READY)
	@echo "Adding what the site needs."
	$(INSTALL) --constraint $(CONSTRAINTS) --group site
	@touch $@

# The pages alone, with the Sphinx that SPHINX names. A warning is an error, also of a page that an earlier build has
# written in spite of it: all are written anew.
site-pages:
	$(SPHINX) -W --keep-going -E -a -q -b html -d $(SITE)/../doctrees docs $(SITE)
	$(SPHINX) -W --keep-going -E -a -q -b html -d $(SITE)/../doctrees-zh -c docs -t zh docs/zh $(SITE)/zh

# The wheel is built from the sdist.
dist: $(READY)  ## Build the sdist and the wheel in dist/, and check what they hold
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	$(ONE_THREAD) REGARD_DIST=dist $(BIN)/python -m pytest -q tests/test_distribution.py

models: $(READY)  ## Train the bundled models anew (needs the data: regard data get NAME)
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/context.py
	$(BIN)/python benchmarks/diagonal.py
	$(BIN)/python benchmarks/effects.py

clean:  ## Remove the environments, and what demos and the site wrote
	rm -rf .venv .venv-torch-* demo build dist .mypy_cache .pytest_cache .ruff_cache
