"""Runs a scenario in an application: python driver.py APPLICATION SCENARIO ENDPOINT. Prints the result of each call."""

import importlib
import json
import os
import re
import sys
from datetime import datetime
from decimal import Decimal

import boto3

application, scenario, endpoint = sys.argv[1:]
os.environ.update(AWS_ENDPOINT_URL_DYNAMODB=endpoint, AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
client = boto3.client("dynamodb")
shop = importlib.import_module(application).Application(client)


def image_after(key, change):
    """The image that a stream delivers after a writer has changed an attribute without its keys."""
    name, value = change
    names, values = {"#a": name}, {":v": value}
    client.update_item(TableName="Shop", Key=key, UpdateExpression="SET #a = :v", ExpressionAttributeNames=names, ExpressionAttributeValues=values)
    return client.get_item(TableName="Shop", Key=key, ConsistentRead=True)["Item"]


def pages(size):
    found, following = [], None
    while True:
        items, following = shop.open_orders_page(size, following)
        found.append(items)
        if following is None:
            return found


def plain(value):
    """A model of pydantic or PynamoDB, and what JSON has no word for."""
    if isinstance(value, (Decimal, datetime)):
        return int(value if isinstance(value, Decimal) else value.timestamp())
    attributes = value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value.attribute_values
    return {name: one for name, one in attributes.items() if not isinstance(one, type)}


for method, *values in json.load(open(scenario, encoding="utf-8")):
    if method == "openOrdersPage":
        result = pages(*values)
    elif method == "repair":
        result = shop.repair(image_after(*values))
    else:
        result = getattr(shop, re.sub("[A-Z]", lambda one: f"_{one[0].lower()}", method))(*values)
    print(json.dumps([method, result], default=plain))
