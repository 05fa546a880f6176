"""A retrofit as one writes it with boto3: scan, join three attributes, write.

Into a new table by `batch_writer`, unconditionally; in place by one `update_item` for each item. Says what it took in
one line of JSON.

    boto3_retrofit.py ENDPOINT SOURCE TARGET
"""

import json
import resource
import sys
import time

import boto3
from botocore.config import Config

KEY = "byResourceActionUser_pk"
PAGE_ITEMS = 500


def pages(table):
    start = {}
    while True:
        page = table.scan(Limit=PAGE_ITEMS, **start)
        yield page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def joined(item):
    return "-".join([item["resourceId"], item["action"], item["accessedBy"]])


def into_new_table(source, target):
    written = 0
    with target.batch_writer() as batch:
        for items in pages(source):
            for item in items:
                batch.put_item(Item=item | {KEY: joined(item)})
            written += len(items)
    return written


def in_place(table):
    written = 0
    for items in pages(table):
        for item in items:
            table.update_item(
                Key={"id": item["id"]},
                UpdateExpression="SET #key = :key",
                ExpressionAttributeNames={"#key": KEY},
                ExpressionAttributeValues={":key": joined(item)},
            )
        written += len(items)
    return written


def main():
    endpoint, source, target = sys.argv[1:]
    begun, cpu = time.perf_counter(), time.process_time()
    dynamodb = boto3.resource("dynamodb", endpoint_url=endpoint, config=Config(ignore_configured_endpoint_urls=True))
    if source == target:
        items = in_place(dynamodb.Table(source))
    else:
        items = into_new_table(dynamodb.Table(source), dynamodb.Table(target))
    done = {
        "items": items,
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu,
        "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }
    print(json.dumps(done))


main()
