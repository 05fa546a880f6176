"""Types of keyfold.toml, as `keyfold types --lang python` writes them. A comment says which error a line must give."""

import keyfold
from keyfold_audit import AuditItem, AuditKey, AuditWhenDidUserActOnResource

event: AuditItem = {"id": "1", "action": "viewed", "timestamp": "2017-03-01T08:00:00Z", "resourceId": "123bbb"}
asked: AuditWhenDidUserActOnResource = {"resourceId": "123bbb", "action": "viewed", "accessedBy": "joe1"}
tables = keyfold.load("")
arguments = tables.put("audit", event)
answer = tables.query(None, {"table": "audit", "where": {"id": "1"}})

misspelt: AuditItem = {"id": "1", "acton": "viewed", "action": "viewed", "timestamp": "2017"}  # error typeddict-unknown-key
missing: AuditItem = {"id": "1", "timestamp": "2017"}  # error typeddict-item
wrong: AuditItem = {"id": "1", "action": "seen", "timestamp": "2017"}  # error typeddict-item
other: AuditItem = {"id": "1", "action": "viewed", "timestamp": "2017", "resourceId": 7}  # error typeddict-item
key: AuditKey = {}  # error typeddict-item
parameters: AuditWhenDidUserActOnResource = {"resourceId": "123bbb", "accessedBy": "joe1"}  # error typeddict-item
extra: AuditWhenDidUserActOnResource = {"resourceId": "1", "action": "viewed", "accessedBy": "joe1", "user": "joe1"}  # error typeddict-unknown-key
seen: AuditWhenDidUserActOnResource = {"resourceId": "1", "action": "seen", "accessedBy": "joe1"}  # error typeddict-item
print(event["timstamp"])  # error typeddict-item
tables.put("audit", event, if_absnt=True)  # error call-arg
