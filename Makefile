# The verbs of httpbed: people and CI use these, and nothing else. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help prepare demo quick test test-slow test-virtual test-install check lint types rust-lints rust-tests rust-quick compiled build build-arm64 deb calibrate bench bench-link bench-quiche bench-replay bench-speed-index bench-kills bench-campaign bench-exactness bench-truth bench-guest bench-explain bench-claims bench-identify reproduce docs
MAKEFLAGS += --no-print-directory
# cargo would look for make's job server, which make gives to other makes only.
unexport MAKEFLAGS MFLAGS
# Debian's ordinary users have no sbin on their PATH, where ip and ethtool are.
export PATH := $(CURDIR)/.venv/bin:$(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin

help:  ## list the verbs
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

prepare:  ## set everything up; every other verb does it first
	@python=$$(setup/interpreter) || exit; \
	exec env PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1 \
	    "$$python" src/httpbed/bed/machine/guard.py --lock .setup.lock -- "$$python" setup/prepare.py

demo: prepare  ## compare HTTP/1.1, HTTP/2 and HTTP/3 on two links, and show the report
	@httpbed demo

quick: .venv/bin/httpbed-sandbox  ## lint, and the tests nearest to what changed, on src/ itself; BASE=main
	@ruff check --quiet . && ruff format --quiet --check . && PYTHONPATH=src lint-imports >/dev/null
	@git diff --quiet $(or $(BASE),HEAD) -- crates || $(MAKE) prepare rust-quick
	@tests=$$(python setup/affected_tests.py $(BASE)) || exit; \
	if [ "$$tests" ]; then PYTHONPATH=src exec python -m pytest --quiet --numprocesses 2 \
	    --dist loadfile -m "not (namespaces or toolbox or alone or slow)" $$tests; fi

.venv/bin/httpbed-sandbox:
	@$(MAKE) prepare

rust-quick:
	cargo test --quiet --locked --workspace

check: prepare  ## lint, formatting, types, layers
	@$(MAKE) --jobs 2 --output-sync types rust-lints lint

lint:
	ruff check .
	ruff format --check .
	PYTHONPATH=src lint-imports
	cargo fmt --all --check
	cargo fmt --manifest-path crates/httpbed-quiche/Cargo.toml --check
	cargo fmt --manifest-path crates/httpbed-stacks/Cargo.toml --check

types:
	mypy

rust-lints:
	setup/cargo clippy --workspace --all-targets -- --deny warnings

# Root runs the emulator's tests in namespaces once more, as the user nobody.
rust-tests:
	setup/cargo test --workspace
	@[ "$$(id -u)" != 0 ] || exec setup/as-nobody sh -c \
	    'exec "$$(ls -t ../target/*/debug/deps/namespace-* | grep -v "[.]d$$" | head -1)" --quiet'

compiled:
	PYTHONPATH=src python setup/compiled.py check $(PROGRAMS)
	PYTHONPATH=src python setup/compiled.py test $(PROGRAMS)

test: prepare  ## check and every test but the slow ones, side by side; root runs tests as nobody
	@python setup/run_tests.py

test-slow: prepare  ## the tests marked slow, as every night
	@httpbed toolbox build >/dev/null
	@python setup/run_tests.py slow

test-virtual: prepare  ## build the kernel of guests, and run the tests of virtual time in them
	@httpbed toolbox kernel >/dev/null
	python -m pytest --quiet -p no:cacheprovider tests/virtual

test-install: build  ## install the wheel on a fresh minimal Debian as pip, pipx and uv do, and run it there
	python -m pytest --quiet -p no:cacheprovider tests/install

calibrate: prepare  ## run the emulated link against arithmetic, and certify this machine
	@httpbed doctor calibrate

build: prepare  ## the wheel, with the Rust executables and the kernel of guests in it, into dist/
	PYTHONPATH=src python setup/wheel_kernel.py build/guest-kernel
	HTTPBED_WHEEL_KERNEL=$(CURDIR)/build/guest-kernel uv build --quiet --wheel --no-build-isolation --out-dir dist .

build-arm64: prepare  ## the wheel for arm64, without a kernel of guests, built on x86-64 with rustup
	rustup --quiet target add aarch64-unknown-linux-musl
	HTTPBED_WHEEL_TARGET=aarch64-unknown-linux-musl \
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
	    uv build --quiet --wheel --no-build-isolation --out-dir dist .

deb: build  ## a Debian package of the wheel with its locked Python packages, into dist/
	setup/make-deb

bench: prepare  ## what a trial costs beside its transfer, and what each verb costs to start
	python bench/trial.py $(ARGS)
	python -m bench.verbs

bench-link: prepare  ## the link emulator beside its peers and bounds; ARGS="--quick --only latency"
	python -m bench.link $(ARGS)

bench-quiche: prepare  ## httpbed-quiche beside curl: CPU time, goodput, memory; ARGS="--rounds 5"
	python -m bench.quiche_client $(ARGS)

bench-replay: prepare  ## what the program behind a recorded site's server answers at the most
	python -m bench.replay_origin $(ARGS)

bench-speed-index: prepare  ## Speed Index of recorded traces beside speedline-core's, from npm
	python -m bench.speed_index $(ARGS)

bench-kills: prepare  ## kill processes of running campaigns at random; ARGS="--kills 200 --seed 1"
	python -m bench.kills $(ARGS)

bench-campaign: prepare  ## what each verb costs on a large campaign; ARGS="--trials 100000"
	python -m bench.campaign.size $(ARGS)

bench-exactness: prepare  ## whether each program gives the same bytes in virtual time; ARGS="--only curl"
	python -m bench.exactness $(ARGS)

bench-truth: prepare  ## the same trials by both clocks: are they the same within 2 %? ARGS='--minutes 25'
	python -m bench.clocks.truth $(ARGS)

bench-guest: prepare  ## what a trial in virtual time costs, by phases; ARGS='--sizes "100 kB"'
	python -m bench.clocks.shares $(ARGS)

bench-explain: prepare  ## planted causes: does the division find them? ARGS='--seeds 201-205 --twins'
	python -m bench.explain $(ARGS)

bench-claims: prepare  ## planted campaigns: how often each verdict comes; ARGS='--campaigns 600'
	python -m bench.claims $(ARGS)

bench-identify: prepare  ## whether congestion controls get their right names; ARGS='--groups seeds'
	python -m bench.identify $(ARGS)

reproduce: prepare  ## run the studies and compare with results/; STUDY=zhang2023 SCALE=smoke
	python experiments/reproduce.py $(if $(STUDY),--study $(STUDY)) $(if $(SCALE),--scale $(SCALE)) $(if $(SEED),--seed $(SEED))

docs: prepare  ## write the generated pages, and build the documentation's site into build/site
	python docs/generate.py
	@rm -rf build/site
	sphinx-build --quiet --fail-on-warning -c docs -d build/doctrees . build/site
	@echo "site: build/site/index.html"
