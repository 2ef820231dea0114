"""RocketMQ's remoting protocol: bytes and values, and the endpoint that roles talk through.

codes          numbers and names            fields        typed ext fields
frame          commands as bytes            dialect       JSON, strict and fastjson's
message, host  records, batches, ids        bodies, heartbeat, registration   JSON bodies
remoting       connections, calls, requests
"""
