"""A proxy in front of DynamoDB and Secrets Manager that allows what a deployed role allows, and denies all else, as AWS does."""

import fnmatch
import http.client
import http.server
import json
import re
import threading
import urllib.parse

TABLE = "arn:aws:dynamodb:us-east-1:123456789012:table/"
PARTIQL = re.compile(r'\s*(\w+)[^"]*"([^"]+)"')


def listed(value):
    return value if isinstance(value, list) else [value]


class Role:
    """The statements of a role that is deployed."""

    def __init__(self, statements):
        self.statements, self.denied, self.used = statements, set(), set()

    def without(self, sid):
        left = [statement for statement in self.statements if statement["Sid"] != sid]
        assert len(left) < len(self.statements), sid
        return Role(left)

    @staticmethod
    def covers(granted, resource):
        """A stream is named by its table: the embedded DynamoDB's streams have other labels than the deployed ones."""
        return granted.startswith(resource) if resource.endswith("/stream/") else fnmatch.fnmatchcase(resource, granted)

    def allows(self, action, resource):
        for statement in self.statements:
            assert statement["Effect"] == "Allow" and ("Condition" not in statement or "kms" in str(statement["Action"])), statement
            if action in listed(statement["Action"]) and any(self.covers(one, resource) for one in listed(statement["Resource"])):
                self.used.add(statement["Sid"])
                return True
        self.denied.add((action, resource))
        return False


def needed(target, body):
    """The action on each resource that a call needs.

    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
    """
    service, operation = target.split(".", 1)
    if service == "secretsmanager":
        return [(f"secretsmanager:{operation}", body["SecretId"])]
    one = lambda operation, table: (f"dynamodb:{operation}", TABLE + table)
    if operation in ("Query", "Scan") and "IndexName" in body:
        return [one(operation, f"{body['TableName']}/index/{body['IndexName']}")]
    if operation in ("BatchGetItem", "BatchWriteItem"):
        return [one(operation, table) for table in body["RequestItems"]]
    if operation == "TransactWriteItems":
        names = {"ConditionCheck": "ConditionCheckItem"}
        return [one(names.get(kind, f"{kind}Item"), part["TableName"]) for item in body["TransactItems"] for kind, part in item.items()]
    if operation in ("ExecuteStatement", "BatchExecuteStatement"):
        words = {"INSERT": "PartiQLInsert", "UPDATE": "PartiQLUpdate", "DELETE": "PartiQLDelete", "SELECT": "PartiQLSelect"}
        statements = [part["Statement"] for part in body.get("Statements", [body])]
        return [one(words[kind.upper()], table) for kind, table in (PARTIQL.match(text).groups() for text in statements)]
    if service.startswith("DynamoDBStreams"):
        # An iterator does not say which stream it reads: the one who asked for it was allowed to, or has none.
        return [one(operation, body["StreamArn"].split("/")[1] + "/stream/")] if "StreamArn" in body else []
    return [one(operation, body["ResourceArn"].split("/")[1] if "ResourceArn" in body else body["TableName"])]


class Proxy:
    """One function's way to DynamoDB (at `dynamo`) and Secrets Manager (at `secrets`)."""

    def __init__(self, role, dynamo, secrets):
        self.role = role
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                target = self.headers["X-Amz-Target"]
                denied = [need for need in needed(target, json.loads(body)) if not proxy.role.allows(*need)]
                if denied:
                    action, resource = denied[0]
                    message = f"not authorized to perform: {action} on resource: {resource}"
                    kind = "com.amazon.coral.service#AccessDeniedException"
                    return self.answer(400, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps({"__type": kind, "message": message}).encode())
                url = urllib.parse.urlsplit(secrets if target.startswith("secretsmanager") else dynamo)
                connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "content-length")}
                connection.request("POST", "/", body, {**headers, "Host": url.netloc})
                answer = connection.getresponse()
                content = answer.read()
                kept = {name: value for name, value in answer.getheaders() if name.lower() not in ("connection", "content-length", "transfer-encoding")}
                self.answer(answer.status, kept, content)
                connection.close()

            def answer(self, status, headers, body):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"
