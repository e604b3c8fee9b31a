"""What an agent did, in one schema: read from its output and from the model traffic, written, exported."""

from runbook.traces.arrivals import ArrivalLog
from runbook.traces.atif_export import to_atif
from runbook.traces.events import Kind, Source, TraceEvent, schema
from runbook.traces.summary import TraceSummary
from runbook.traces.writing import TraceError, read_trace, write_trace

__all__ = [
    "ArrivalLog",
    "Kind",
    "Source",
    "TraceError",
    "TraceEvent",
    "TraceSummary",
    "read_trace",
    "schema",
    "to_atif",
    "write_trace",
]
