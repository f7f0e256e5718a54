"""
OpenTelemetry in: spans that programs send become runs while they arrive.

`app` answers requests, `bodies` reads what they hold, `traces` keeps the runs that are being received, and `trace_run`
writes one of them.
"""
