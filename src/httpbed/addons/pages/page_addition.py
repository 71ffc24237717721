"""What page loads add to trials: sites behind servers, recorded responses, and checks of loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.addons.pages import page_checks, replay_program
from httpbed.addons.pages.load.browser_load import SeenScreen
from httpbed.addons.pages.page import PageLoad, RecordedPage
from httpbed.addons.pages.replay_program import ReplayLogEntry
from httpbed.addons.pages.sites.site import FILES, Site
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.toolbox.root_filesystem import Contents
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Check
from httpbed.experiment.workload import OWN_ORIGIN, Workload
from httpbed.programs.part import PageToLoad, Part
from httpbed.trial.addition import PlannedParts, TrialAddition
from httpbed.trial.attempt_plan import AttemptAddition, CampaignSetup, RunningAddition
from httpbed.trial.evidence import AddedEvidence, AddedJudgement, AttemptFiles
from httpbed.trial.hops import Chain

if TYPE_CHECKING:  # a planner does not need what runs
    from httpbed.bed.sandbox.supervisor import Supervisor

SITES = "/sites"
REPLAY_ORIGIN = Contents("trixie", frozenset({"python3"}))
"""What the program that answers for recorded sites needs."""


def site_folder(load: PageLoad) -> str:
    """Return the path of a site's folder of origins, as servers see it."""
    return f"{SITES}/{load.key}"


@dataclass(frozen=True)
class PlannedLoads(AttemptAddition):
    """The programs that answer for recorded sites, and drivers that end connections."""

    origins: Mapping[str, ProcessSpec]
    """Behind each server that has a recorded site, by their own names."""
    drivers: Mapping[str, ProcessSpec]
    """The drivers of browsers that visit the page before the measured load."""

    def programs(self) -> Mapping[str, ProcessSpec]:
        """Return the programs behind servers."""
        return self.origins

    def running(
        self, supervisor: Supervisor, artifacts: Path
    ) -> AbstractAsyncContextManager[RunningAddition]:
        """Return what starts and ends the programs, and serves drivers."""
        from httpbed.addons.pages import page_run  # it runs

        del artifacts
        return page_run.running_loads(supervisor, self.origins, self.drivers)

    def imported_later(self) -> tuple[str, ...]:
        """Name the module that runs it."""
        return ("httpbed.addons.pages.page_run",)


@dataclass(frozen=True)
class PageEvidence(AddedEvidence):
    """What the programs behind servers report, and what browsers saw of their screens."""

    replayed: Mapping[str, Sequence[ReplayLogEntry]]
    """Requests answered from a recorded site, by server."""
    screens: Mapping[str, SeenScreen]
    """By client; of those that say."""


@dataclass(frozen=True)
class PageJudgement(AddedJudgement):
    """Whether each browser loaded its page as the trial asks."""

    def checks_of_fetched(self, chain: Chain, where: str) -> Iterator[Check]:
        """Check a page load: its resources, its visit, and the answers of a recorded site."""
        load, evidence = chain.workload, self.attempt.evidence
        if not isinstance(load, PageLoad):
            return
        site: Site = self.attempt.setup.sites[load.key].site
        yield from page_checks.checks(chain, load, site, evidence, where)
        yield from page_checks.visit_checks(chain, load, site.requests(), evidence, where)
        pages = evidence.of(PageEvidence)
        seen = pages.screens.get(chain.client) if pages else None
        if load.device:
            yield page_checks.screen_check(load.device, seen, where)
        if not site.recorded:
            return
        by_server = pages.replayed if pages else {}
        replayed = [entry for name in chain.servers for entry in by_server.get(name, ())]
        logged = [request for name in chain.servers for request in evidence.reports[name].requests]
        yield replay_program.punctual(site, replayed, where)
        yield from replay_program.checks(site, logged, replayed, where)

    def check_of_connections(self, chain: Chain, count: int, where: str) -> Check | None:
        """Check that a browser opened no more connections than one of its protocol does."""
        load = chain.workload
        if not isinstance(load, PageLoad):
            return None
        site: Site = self.attempt.setup.sites[load.key].site
        browser = self.attempt.evidence.reports[chain.client].requests
        return page_checks.connections(chain, site, count, browser, where)


@dataclass(frozen=True)
class PageAddition(TrialAddition):
    """Page loads in trials."""

    name: str = "page loads"
    judgement: type[AddedJudgement] = field(default=PageJudgement, init=False)

    def part(self, part: Part, workload: Workload) -> Part:
        """Return a browser, or a server with the site, as they are told."""
        if not isinstance(workload, PageLoad):
            return part
        folder, page = site_folder(workload), workload.page
        is_recorded = isinstance(page, RecordedPage)
        told = PageToLoad(
            entry=page.entry or "/",
            origins=tuple(page.origins or [OWN_ORIGIN]),
            visit=workload.visit,
            viewport=workload.screen,
            net_log=workload.net_log,
            replayed=is_recorded,
            no_icon=page.icon is False,
        )
        if device := workload.device:
            told = replace(
                told,
                pixel_ratio=device.pixel_ratio,
                user_agent=device.user_agent,
                mobile=device.mobile,
            )
        return replace(part, page=told, content=folder if is_recorded else f"{folder}/0")

    def plan(self, planned: PlannedParts) -> PlannedLoads | None:
        """Plan what is behind servers of recorded sites, and beside browsers."""
        origins = {
            replay_program.name(name): replay_program.process(part)
            for name, part in planned.parts.items()
            if part.role == "server" and part.page and part.page.replayed
        }
        drivers = {
            client.part.name: client.process
            for client in planned.clients
            if client.part.page and client.part.page.visit != "cold"
        }
        return PlannedLoads(origins, drivers) if origins or drivers else None

    def roots(self, workloads: Iterable[Workload]) -> Mapping[str, Contents]:
        """Return the root of the program that answers for recorded sites."""
        pages = [workload.page for workload in workloads if isinstance(workload, PageLoad)]
        replays = any(isinstance(page, RecordedPage) for page in pages)
        return {replay_program.ROOT: REPLAY_ORIGIN} if replays else {}

    def served(self, setup: CampaignSetup, scenario: Scenario) -> dict[str, Path]:
        """Return the sites of a scenario."""
        pages = [workload for workload in scenario.workloads() if isinstance(workload, PageLoad)]
        return {site_folder(page): setup.sites[page.key].folder / FILES for page in pages}

    def read(self, files: AttemptFiles) -> PageEvidence | None:
        """Read which requests were answered from recorded sites, and what browsers saw."""
        planned = files.planned
        loads = planned.attempt.addition(PlannedLoads)
        servers = [hop.server for hop in planned.hops]
        recorded = [
            name for name in servers if loads and replay_program.name(name) in loads.origins
        ]
        clients = [chain.client for chain in planned.chains if isinstance(chain.workload, PageLoad)]
        if not clients:
            return None
        from httpbed.addons.pages.load import driver_output  # downloads do without it

        seen = {name: driver_output.seen_screen(files.folder / name) for name in clients}
        return PageEvidence(
            {
                name: replay_program.read(files.folder / replay_program.name(name))
                for name in recorded
            },
            {name: screen for name, screen in seen.items() if screen},
        )


ADDITION = PageAddition()
