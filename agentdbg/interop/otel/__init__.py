"""
Runs as OpenTelemetry spans, in the words other tools understand.

`conventions` has the names, `outline` says which events become spans and which belong to one, `span_attributes` tells
what a span says, `otlp` puts spans on the wire and `delivery` brings them to a collector.
"""
