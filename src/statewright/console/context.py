"""The server behind the console's reads: the applications of its regions, and the runs that were read last."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from statewright import chance
from statewright.api.operations import App
from statewright.arn import EXECUTION, EXPRESS, parse_arn
from statewright.console.asked import Asked
from statewright.console.figures.surveys import Surveys
from statewright.console.hidden_values import HiddenValues
from statewright.console.hub import Hub
from statewright.console.project import ProjectBoard
from statewright.console.recording.recorder import ExpressRecorder, no_recording
from statewright.console.redaction import Redactor
from statewright.console.runs import ReadRun, Runs
from statewright.console.services.hidden_places import HiddenPlaces
from statewright.console.simulations.runner import Simulations
from statewright.console.subjects import Polls
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject


class RunSource(Protocol):
    """Reads executions, each by its ARN. All raise ApiError."""

    async def view(self, arn: str, /) -> JsonObject:
        """The document of a run."""

    async def events(self, arn: str, /) -> list[HistoryEvent]:
        """Its history as it may be shown."""

    def reading(self, arn: str, /) -> AbstractAsyncContextManager[ReadRun]:
        """The run, which does not grow while it is used."""


@dataclass(slots=True)
class Console:
    """The default region's application, and what is kept for each region. The console has no throttle of its own, and
    takes nothing from that of the SDKs.
    """

    app: App
    place: str = ""
    """The place of the server's state: a folder or a database."""
    project: ProjectBoard | None = None
    """The problems that `statewright dev` finds in its folder; None without it."""
    instance: str = field(default_factory=chance.uuid4)
    """Tells this process from the one before and the one after."""
    polls: Polls = field(default_factory=Polls)
    places: HiddenPlaces = field(default_factory=HiddenPlaces)
    """The keys and tokens at which reads of items go on, where a part of them is hidden."""
    _hubs: dict[str, Hub] = field(default_factory=dict)
    _apps: dict[str, App] = field(default_factory=dict)
    _runs: dict[str, Runs] = field(default_factory=dict)
    _surveys: dict[str, Surveys] = field(default_factory=dict)
    _recorders: dict[str, ExpressRecorder] = field(default_factory=dict)
    _hidden: dict[str, HiddenValues] = field(default_factory=dict)
    redactor: Redactor = field(init=False)
    """Hides payloads; everything that shows one asks it."""
    _simulations: Simulations | None = None

    def __post_init__(self) -> None:
        self.redactor = Redactor(self.app.config.console)

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

    def regions(self) -> list[str]:
        """The regions that something has used, the default one first."""
        app = self.app
        return app.regions.names() if app.regions is not None else [app.config.region]

    def app_of(self, asked: Asked) -> App:
        """The application of the region that a query names. Raises: ApiError (`BadRequest`)."""
        return self.app_in(asked.given.get("region", ""))

    def app_of_arn(self, arn: str) -> App:
        """The application of the region of an ARN. Raises: ApiError (`InvalidArn`, `BadRequest`)."""
        return self.app_in(parse_arn(arn).region)

    def surveys_of(self, app: App) -> Surveys:
        """The surveys of machines of an application's region."""
        region = app.config.region
        if region not in self._surveys:
            self._surveys[region] = Surveys(app.engine, self.redactor)
        return self._surveys[region]

    @property
    def simulations(self) -> Simulations:
        """The simulations of this server, of all regions."""
        if self._simulations is None:
            self._simulations = Simulations(self.app.engine.settings.data, self.app.clock)
        return self._simulations

    def express_of(self, app: App) -> ExpressRecorder:
        """The recorder of Express executions of an application's region."""
        region = app.config.region
        if region not in self._recorders:
            self._recorders[region] = ExpressRecorder(app.engine, self.redactor)
        return self._recorders[region]

    def hidden_of(self, app: App) -> HiddenValues:
        """The values that histories of an application's region hide."""
        region = app.config.region
        if region not in self._hidden:
            self._hidden[region] = HiddenValues(app.engine, self.redactor)
        return self._hidden[region]

    async def hide(self, arn: str, value: Json) -> Json:
        """A document about a Standard execution, without the values that its history hides.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`).
        """
        app = self.app_of_run(arn)
        row = await app.engine.names.row_of(arn)
        values = await self.hidden_of(app).of(row.id, row.stopped_ms)
        return value if values is None else values.value(value)

    def source_of(self, arn: str) -> RunSource:
        """Reads an execution: a Standard one, or an Express one that was recorded.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `NoHistory`).
        """
        parsed = parse_arn(arn, EXECUTION, EXPRESS)
        if parsed.kind == EXECUTION:
            return self.runs_of(arn)
        return self.express_of(self.app_in(parsed.region))

    def app_of_run(self, arn: str) -> App:
        """The application of the region of an execution's ARN. Raises: ApiError, as `runs_of`."""
        parsed = parse_arn(arn, EXECUTION, EXPRESS)
        if parsed.kind == EXPRESS:
            raise no_recording()
        try:
            return self.app_in(parsed.region)
        except ApiError:
            raise ApiError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'") from None

    def runs_of(self, arn: str) -> Runs:
        """The runs of the region of an execution's ARN.

        Raises: ApiError (`InvalidArn`, `ExecutionDoesNotExist`, `NoHistory` for an Express one).
        """
        app = self.app_of_run(arn)
        runs = self._runs.get(app.config.region)
        if runs is None:
            runs = self._runs[app.config.region] = Runs(app.engine, self.redactor)
        return runs

    def hub_of(self, app: App) -> Hub:
        """The hub of the region of an application."""
        hub = self._hubs.get(app.config.region)
        if hub is None:
            hub = self._hubs[app.config.region] = Hub(app.engine)
        return hub
