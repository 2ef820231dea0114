# Two commands: `make demo` shows what this is, `make test` proves that it works. Both set up all they need.
.PHONY: help demo test test-all compiled lint soak swarm explore fuzz shapes hostile kills container-kills museum mutation coverage client-grid cluster benchmarks docs clean

HISTORIES ?= 1000000
FIRST ?= 0
STATES ?= 1000000

help:
	@echo 'make demo        brokers die, verdicts, a dashboard (three minutes after downloads)'
	@echo 'make test        every check and test that this machine can run; names what it cannot'
	@echo 'make test-all    the same with every release and pair, half an hour more (root, Java)'
	@echo 'make compiled    numba is installed, and the compiled checkers held against the others'
	@echo 'make lint        formatting, types, import rules'
	@echo 'make soak        10,000 simulated runs of brokers without planted bugs: none may FAIL'
	@echo 'make swarm       5,000 random plans of overlapping faults: no false alarm, under 5 % UNKNOWN'
	@echo 'make explore     DLedger: every order of events of three members, a million states (STATES=n: n of them)'
	@echo 'make fuzz        checkers against brute force on a million random histories an object (HISTORIES=n: n, FIRST=n: from seed n)'
	@echo 'make shapes      checkers against a second brute force on all small histories of some shapes'
	@echo 'make hostile     a million hostile frames, 10,000 damaged stores, tables, files of properties (an hour)'
	@echo 'make kills       the harness is killed at 200 random moments: nothing is left after heal (an hour, root)'
	@echo 'make container-kills the same with 100 runs in containers, beside one that is not ours (half an hour, an engine)'
	@echo 'make museum      every planted bug is hunted; in how many seeds was it found?'
	@echo 'make mutation    400 small changes of the reference: how many are noticed? (goes on where it was; three hours)'
	@echo 'make coverage    which requests, answers, branches and faults do all units exercise, and which none? (15 min)'
	@echo 'make client-grid loads of clients against eight faults in every mode, three seeds a cell (goes on where it was; an hour)'
	@echo 'make cluster     lake, campaign, re-check on a Spark cluster on this machine; an executor is killed'
	@echo 'make benchmarks  speed and memory, as ratios'
	@echo 'make docs        the generated pages'

demo: .venv/.mqchaos-setup
	.venv/bin/python scripts/demo.py

test: .venv/.mqchaos-setup lint
	.venv/bin/python -m pytest suites -n 3 --dist loadgroup

test-all: .venv/.mqchaos-setup lint
	MQCHAOS_TESTS=all .venv/bin/python -m pytest suites -n 3 --dist loadgroup

compiled: .venv/.mqchaos-setup
	.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[compiled]'
	.venv/bin/python -m pytest suites/unit/checkers/compiled -n 2

lint: .venv/.mqchaos-setup
	.venv/bin/ruff format --check -q .
	.venv/bin/ruff check -q .
	.venv/bin/mypy
	.venv/bin/lint-imports

soak: .venv/.mqchaos-setup
	.venv/bin/python scripts/soak.py

swarm: .venv/.mqchaos-setup
	.venv/bin/python scripts/swarm.py

explore: .venv/.mqchaos-setup
	.venv/bin/python -m suites.unit.dledger.exploration --states $(STATES) --record
	.venv/bin/python -m scripts.explored_page

fuzz: .venv/.mqchaos-setup
	.venv/bin/python scripts/fuzz_checkers.py --histories $(HISTORIES) --first $(FIRST)

shapes: .venv/.mqchaos-setup
	.venv/bin/python scripts/enumerate_shapes.py

hostile: .venv/.mqchaos-setup
	.venv/bin/python -m suites.hostile frames nameserver_frames --seeds 20000
	.venv/bin/python -m suites.hostile stores tables configurations histories --seeds 10000

kills: .venv/.mqchaos-setup
	.venv/bin/python -m suites.hostile kills --seeds 200 --limit 300

container-kills: .venv/.mqchaos-setup
	.venv/bin/python -m suites.hostile container_kills --seeds 100 --limit 300

museum: .venv/.mqchaos-setup
	.venv/bin/python -m suites.museum.hunt
	.venv/bin/python -m suites.museum.page

mutation: .venv/.mqchaos-setup
	.venv/bin/python -m harness.cli mutate
	.venv/bin/python scripts/detection_page.py --take mutation

coverage: .venv/.mqchaos-setup
	.venv/bin/python -m suites.exercise.record
	.venv/bin/python scripts/coverage_page.py

SEEDS ?= 3
client-grid: .venv/.mqchaos-setup
	.venv/bin/python -m suites.chaos.client_grid --seeds $(SEEDS)

cluster: .venv/.mqchaos-setup
	.venv/bin/python -m suites.cluster

benchmarks: .venv/.mqchaos-setup
	.venv/bin/python -m benchmarks

docs: .venv/.mqchaos-setup
	.venv/bin/python scripts/docs.py

.venv/.mqchaos-setup: pyproject.toml scripts/setup
	scripts/setup
	@touch $@

clean:
	rm -rf demo runs lake marts dashboard.html
