"""Types of shop.toml: keys of entities, and two conditions on one attribute. A comment says which error a line must give."""

from decimal import Decimal

from keyfold import Question, Table
from keyfold_shop import (
    SHOP, SHOP_ORDERS_OF, SHOP_TAGGED, ShopCustomerKey, ShopInPriceRange, ShopItem, ShopKey, ShopOrder, ShopOrderKey,
    ShopOrdersOf, ShopTagged, ShopTaggedAnswer,
)

since: ShopOrdersOf = {"customerId": "c1", "placedAt.gte": "2026-01-01T00:00:00Z"}
between: ShopInPriceRange = {"customerId": "c1", "price.gte": 5, "price.lte": Decimal("9.5")}
tagged: ShopTagged = {"customerId": "c1", "tags.contains": "new"}
order: ShopOrderKey = {"kind": "order", "customerId": "c1", "orderId": "o1"}
customer: ShopCustomerKey = {"kind": "customer", "customerId": "c1"}
shop: Table[ShopItem, ShopKey] = SHOP
orders_of: Question[ShopOrdersOf, ShopOrder] = SHOP_ORDERS_OF
with_tag: Question[ShopTagged, ShopTaggedAnswer] = SHOP_TAGGED

bare: ShopOrdersOf = {"customerId": "c1", "placedAt": "2026"}  # error typeddict-unknown-key
low: ShopInPriceRange = {"customerId": "c1", "price.gte": "5"}  # error typeddict-item
whole: ShopTagged = {"customerId": "c1", "tags.contains": {"new"}}  # error typeddict-item
unnamed: ShopOrderKey = {"customerId": "c1", "orderId": "o1"}  # error typeddict-item
mixed: ShopCustomerKey = {"kind": "customer", "customerId": "c1", "orderId": "o1"}  # error typeddict-unknown-key
