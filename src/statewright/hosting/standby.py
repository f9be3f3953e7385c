"""A standby: a process that waits, with everything loaded, for the lease on a store, and becomes a standby again when
it loses the lease.

Owns both changes. `LeaseWait` waits and takes. `Demotion` is the way back: the process replaces itself by a new image
of the same command, which has the same number, the same listening port and no state (`docs/decisions/0023`). What a
server is between the two belongs to `server.py`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from statewright.clock import Clock
from statewright.errors import InUse, Unavailable

if TYPE_CHECKING:
    from statewright.stores.postgres.watching import Seen

LOOK_MS: Final = 200
"""Between two looks at a lease that another process has."""
AFTER_MS: Final = 5
"""A look this long after the end of a lease finds it over."""
GRACE_MS: Final = 300
"""For calls under way at a demotion to be answered: none of them can change anything any more."""
DEADLINE_SECONDS: Final = 2.0
"""After which a demotion waits for the event loop no longer."""
PORT_VARIABLE: Final = "STATEWRIGHT_HANDED_PORT"
"""Names, to the next image of a process, the descriptor of the socket that it listens on."""
FAILED: Final = 1

log = logging.getLogger("statewright.server")


class LeasedStore(Protocol):
    """A store that belongs to the process that has its lease."""

    async def look(self) -> Seen:
        """See who has the lease. Raises: Unavailable, StoreError."""

    async def open(self, owner: str) -> int:
        """Take the lease. Raises: InUse, Unavailable, StoreError."""


@dataclass(slots=True)
class StoreState:
    """The store as a standby last saw it."""

    owner: str | None = None
    """The process that has the lease."""
    is_answering: bool = True
    """False while the store does not answer."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A server that is a standby: its address, the place of its state, its process, and the one that has the store."""

    endpoint: str
    place: str
    pid: int
    owner: str | None

    @property
    def line(self) -> str:
        """The line on standard output, which people and scripts read."""
        return f"Statewright is a standby on {self.endpoint} (data: {self.place}, pid {self.pid})"


class LeaseWait:
    """Waits until a store's lease is free, and takes it. For one use.

    `place` is the store as messages show it. `was_owner` says that the process was up before: it then waits for a store
    that does not answer, which otherwise refuses a start. `on_wait` is called once, if there is something to wait for.
    """

    def __init__(
        self,
        store: LeasedStore,
        clock: Clock,
        place: str,
        owner: str,
        *,
        was_owner: bool = False,
        on_wait: Callable[[StoreState], None] = lambda _: None,
    ) -> None:
        self.store_state = StoreState()
        self.free_since_ms = 0
        """Since when the lease that was taken was free, by `clock`: its end, or the look that found it released."""
        self.epoch = 0
        """Of the lease that was taken."""
        self._store = store
        self._clock = clock
        self._place = place
        self._owner = owner
        self._is_waiting = was_owner
        self._on_wait: Callable[[StoreState], None] | None = on_wait
        self._stopping = asyncio.Event()

    async def taken(self) -> bool:
        """Wait, and take the lease; False if `stop` came first.

        Raises: StoreError for a store that cannot be used; Unavailable if it does not answer at the start.
        """
        while not self._stopping.is_set():
            pause_ms = LOOK_MS
            try:
                seen = await self._store.look()
                self._note_answer()
                if seen.is_free and not self._stopping.is_set():
                    self.free_since_ms = self._clock.now_ms() + (seen.left_ms if seen.owner is not None else 0)
                    self.epoch = await self._store.open(self._owner)
                    return True
                self._note_owner(seen.owner)
                pause_ms = min(LOOK_MS, max(seen.left_ms, 0) + AFTER_MS)
            except InUse:
                # Another standby was faster.
                self._is_waiting = True
            except Unavailable as problem:
                if not self._is_waiting:
                    raise
                self._note_outage(problem)
            await self._pause(pause_ms)
        return False

    def stop(self) -> None:
        """Wait no longer."""
        self._stopping.set()

    async def _pause(self, pause_ms: int) -> None:
        sleeping = asyncio.ensure_future(self._clock.sleep_until(self._clock.now_ms() + pause_ms))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({sleeping, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for one in (sleeping, stopping):
            one.cancel()

    def _note_owner(self, owner: str | None) -> None:
        self._is_waiting = True
        if owner != self.store_state.owner:
            log.info(
                "standby: the store %s is in use by %s; this server takes over when that one's lease ends",
                self._place, owner,
            )  # fmt: skip
            self.store_state.owner = owner
        self._tell()

    def _note_outage(self, problem: Unavailable) -> None:
        if self.store_state.is_answering:
            log.warning("standby: %s; this server waits for it", problem)
            self.store_state.is_answering = False
        self._tell()

    def _note_answer(self) -> None:
        if not self.store_state.is_answering:
            log.info("standby: the store %s answers again", self._place)
            self.store_state.is_answering = True

    def _tell(self) -> None:
        tell, self._on_wait = self._on_wait, None
        if tell is not None:
            tell(self.store_state)


class Demotion:
    """The end of a process's ownership, after which it is a standby. Called with the reason; others change nothing.

    `refuse` makes the port refuse calls from now on. `become` replaces the process, and does not return. Both the event
    loop and, should that be stuck, a thread see to it.
    """

    def __init__(
        self,
        clock: Clock,
        refuse: Callable[[], None],
        become: Callable[[], object],
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._clock = clock
        self.reason: str | None = None
        self._refuse = refuse
        self._become = become
        self._deadline_seconds = deadline_seconds
        self._is_off = threading.Event()

    def __call__(self, reason: str) -> None:
        """Begin; on the event loop."""
        if self.reason is not None:
            return
        self.reason = reason
        log.warning("%s: this server becomes the standby", reason)
        threading.Thread(target=self._watch, name="statewright-demotion", daemon=True).start()
        self._clock.call_at(self._clock.now_ms() + GRACE_MS, self._run)
        self._refuse()

    def call_off(self) -> None:
        """Leave the process as it is: it has been asked to end."""
        self._is_off.set()

    def _watch(self) -> None:
        if not self._is_off.wait(self._deadline_seconds):
            self._become()

    def _run(self) -> None:
        if not self._is_off.is_set():
            self._become()


def received_port(environment: Mapping[str, str] | None = None) -> socket.socket | None:
    """The listening socket that an earlier image of this process has left; None for a process that begins."""
    given = os.environ.pop(PORT_VARIABLE, None) if environment is None else environment.get(PORT_VARIABLE)
    if given is None:
        return None
    try:
        port = socket.socket(fileno=int(given))
    except (ValueError, OSError):
        return None
    if port.family not in (socket.AF_INET, socket.AF_INET6) or not port.getsockopt(
        socket.SOL_SOCKET, socket.SO_ACCEPTCONN
    ):
        port.detach()
        return None
    port.set_inheritable(False)
    port.setblocking(False)
    return port


def become_standby(port: socket.socket) -> NoReturn:
    """Replace this process by a new image of the same command, which goes on listening on `port`. May be called in any
    thread: nothing of the old image takes another step.
    """
    for handler in logging.getLogger().handlers:
        handler.flush()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Its reader has gone.
            continue
    _close_others_at_exec()
    port.set_inheritable(True)
    program = sys.executable or sys.orig_argv[0]
    try:
        os.execve(program, [program, *sys.orig_argv[1:]], {**os.environ, PORT_VARIABLE: str(port.fileno())})
    except OSError as problem:
        log.error("this server cannot become the standby (%s: %s) and ends", program, problem.strerror)
    os._exit(FAILED)


def _close_others_at_exec() -> None:
    """Let no descriptor pass to the next image but those of the standard streams, none of a library either."""
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except (OSError, ValueError):
        return
    for number in numbers:
        if number > 2:
            try:
                os.set_inheritable(number, False)
            except OSError:  # the one that listed them
                continue


def reap() -> None:
    """Take leave of ended processes that an earlier image of this process has started. For a process that has started
    none itself.
    """
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return
