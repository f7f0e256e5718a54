"""
OpenTelemetry in: spans that programs send become runs while they arrive.

`app` answers requests, `bodies` reads what they hold, `traces` keeps the runs that are being received, `trace_run`
writes one of them, and `overlaps` finds spans that tell of the same call.
"""
