"""The server behind the console's reads: the applications of its regions, and the runs that were read last."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from statewright import chance
from statewright.api.operations import App
from statewright.arn import EXECUTION, EXPRESS, parse_arn
from statewright.console.asked import Asked
from statewright.console.hub import Hub
from statewright.console.project import ProjectBoard
from statewright.console.runs import Runs
from statewright.console.subjects import Polls
from statewright.errors import ApiError


@dataclass(slots=True)
class Console:
    """The default region's application, and what is kept for each region. The console has no throttle of its own, and
    takes nothing from that of the SDKs.
    """

    app: App
    project: ProjectBoard | None = None
    """The problems that `statewright dev` finds in its folder; None without it."""
    instance: str = field(default_factory=chance.uuid4)
    """Tells this process from the one before and the one after."""
    polls: Polls = field(default_factory=Polls)
    _hubs: dict[str, Hub] = field(default_factory=dict)
    _apps: dict[str, App] = field(default_factory=dict)
    _runs: dict[str, Runs] = field(default_factory=dict)

    def app_in(self, region: str) -> App:
        """The application of a region, without a throttle; the default region for an empty name.

        Raises: ApiError (`BadRequest`) for a region that nothing has used.
        """
        app = self.app
        if region and region != app.config.region:
            found = app.regions.running(region) if app.regions is not None else None
            if found is None:
                raise ApiError("BadRequest", f"Nothing has used the region {region[:40]} of this server.")
            app = found
        kept = self._apps.get(app.config.region)
        if kept is None:
            kept = self._apps[app.config.region] = replace(app, throttle=None)
        return kept

    def app_of(self, asked: Asked) -> App:
        """The application of the region that a query names. Raises: ApiError (`BadRequest`)."""
        return self.app_in(asked.given.get("region", ""))

    def runs_of(self, arn: str) -> Runs:
        """The runs of the region of an execution's ARN.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `NoHistory` for an Express one).
        """
        parsed = parse_arn(arn, EXECUTION, EXPRESS)
        if parsed.kind == EXPRESS:
            text = "Express executions keep no history. What they log is in the log group of their state machine."
            raise ApiError("NoHistory", text)
        try:
            app = self.app_in(parsed.region)
        except ApiError:
            raise ApiError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'") from None
        runs = self._runs.get(parsed.region)
        if runs is None:
            runs = self._runs[parsed.region] = Runs(app.engine)
        return runs

    def hub_of(self, app: App) -> Hub:
        """The hub of the region of an application."""
        hub = self._hubs.get(app.config.region)
        if hub is None:
            hub = self._hubs[app.config.region] = Hub(app.engine)
        return hub
