"""The items and result files of one Map Run: a stream that is read in slices, and files written in pieces.

Owns the place in the stream, also after a restart, and which files there are. Where they are is in `data.py`'s
implementations.
"""

from __future__ import annotations

from itertools import groupby

from statewright.asl.program import MapDef
from statewright.engine.map_runs.data import ItemStream, MapRunData, Slice
from statewright.engine.map_runs.head import RunHead
from statewright.errors import ApiError, StoreError
from statewright.interpreter.map_run.advance import SLICE_ITEMS
from statewright.interpreter.map_run.messages import WriteResults
from statewright.interpreter.map_run.results import manifest_of, result_files
from statewright.interpreter.map_run.state import MapRunState
from statewright.payload import dump_json


class RunFiles:
    """The items and the result files of one Map Run."""

    def __init__(self, data: MapRunData, head: RunHead, definition: MapDef) -> None:
        self._data = data
        self._head = head
        self._definition = definition
        self._stream: ItemStream | None = None
        self._position = 0
        """How many items have been taken from the stream."""

    async def items(self, first: int, count: int) -> Slice:
        """Up to so many items from one on. Raises: ApiError whose message is the cause of the failure; Unavailable."""
        try:
            stream = await self._stream_at(first)
            part = await stream.take(count)
        except (ApiError, StoreError):
            # A stream that has raised would seem to end here.
            await self._close_stream()
            raise
        self._position = first + len(part.values)
        if part.last:
            await self._close_stream()
        return part

    async def _stream_at(self, first: int) -> ItemStream:
        """The items from one on. After a restart those before it are passed over."""
        if self._stream is not None and self._position == first:
            return self._stream
        await self._close_stream()
        distributed = self._definition.distributed
        assert distributed is not None
        assert distributed.reader is not None
        head, resource = self._head, distributed.reader.resource.arn
        self._stream = await self._data.open(head, head.reader, head.reader_config, resource)
        self._position = 0
        while self._position < first:
            part = await self._stream.take(min(first - self._position, SLICE_ITEMS))
            self._position += len(part.values)
            if part.last:
                break
        return self._stream

    async def _close_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    async def write(self, state: MapRunState, command: WriteResults) -> None:
        """Write every result file. Raises: ApiError whose message is the cause of the failure; Unavailable."""
        data, head = self._data, self._head
        bucket, arguments = command.bucket, command.arguments
        sizes: dict[tuple[str, str], int] = {}
        chunks = result_files(state, self._definition)
        # The pieces of one file follow each other, so each is written as they are made.
        for (kind, file), pieces in groupby(chunks, key=lambda chunk: (chunk.kind, chunk.file)):
            contents = (piece.data for piece in pieces)
            sizes[kind, file] = await data.write(head, bucket, f"{command.folder}/{file}", contents, arguments)
        manifest = dump_json(manifest_of(state, sizes)).encode()
        await data.write(head, bucket, f"{command.folder}/manifest.json", [manifest], arguments)
