from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import keyfold
from contract import Customer, Order, Product, Shop
from keyfold_shop import (
    SHOP, SHOP_EVERYTHING_OF, SHOP_ORDERS_BY_STATUS, ShopCustomer, ShopCustomerKey, ShopItem, ShopOrder, ShopOrderKey, ShopProduct,
    ShopProductKey, ShopSession,
)

tables = keyfold.load(Path("shop.toml"))


def customer_key(customer: str) -> ShopCustomerKey:
    return {"kind": "customer", "customerId": customer}


def order_key(customer: str, order: str) -> ShopOrderKey:
    return {"kind": "order", "customerId": customer, "orderId": order}


def product_key(product: str) -> ShopProductKey:
    return {"kind": "product", "productId": product}


class Application(Shop):
    def __init__(self, client: Any) -> None:
        self.client = client
        self.refusals = (client.exceptions.ConditionalCheckFailedException, client.exceptions.TransactionCanceledException)

    def succeeds(self, call: Callable[[], object]) -> bool:
        try:
            call()
        except self.refusals:
            return False
        return True

    def add_customer(self, customer: Customer) -> None:
        tables.put_item(self.client, SHOP, ShopCustomer(kind="customer", **customer))

    def add_product(self, product: Product) -> None:
        tables.put_item(self.client, SHOP, ShopProduct(kind="product", **product))

    def place_order(self, order: Order) -> bool:
        return self.succeeds(lambda: tables.put_item(self.client, SHOP, ShopOrder(kind="order", **order), if_absent=True))

    def order(self, customer: str, order: str) -> Optional[ShopItem]:
        return tables.get(self.client, SHOP, order_key(customer, order))

    def products(self, ids: List[str]) -> List[ShopItem]:
        return [item for item in tables.batch_get(self.client, SHOP, map(product_key, ids)) if item]

    def open_orders(self, since: str) -> List[ShopOrder]:
        return tables.ask(self.client, SHOP_ORDERS_BY_STATUS({"status": "open", "placedAt.gte": since})).all()

    def open_orders_page(self, size: int, page: Optional[str]) -> Tuple[List[ShopOrder], Optional[str]]:
        answer = next(tables.ask(self.client, SHOP_ORDERS_BY_STATUS({"status": "open"}), limit=size, page=page).pages())
        return answer.items, answer.next

    def visit(self, customer: str, note: str) -> None:
        tables.update_item(self.client, SHOP, customer_key(customer), add={"visits": 1}, append={"log": [note]})

    def pay(self, customer: str, order: str, product: str) -> bool:
        writes = [
            tables.update(SHOP, order_key(customer, order), set={"status": "paid"}, expecting={"status": "open"}),
            tables.update(SHOP, product_key(product), add={"stock": -1}, condition={"stock": {">": 0}}),
            tables.check(SHOP, customer_key(customer), condition={"name": {"exists": True}}),
        ]
        return self.succeeds(lambda: tables.transact(self.client, writes))

    def cancel(self, customer: str, order: str) -> bool:
        return self.succeeds(lambda: tables.delete_item(self.client, SHOP, order_key(customer, order), expecting={"status": "open"}))

    def log_in(self, customer: str, token: str, expires: int) -> None:
        tables.put_item(self.client, SHOP, ShopSession(kind="session", customerId=customer, token=token), expires=expires)

    def repair(self, image: Dict[str, Any]) -> None:
        update = tables.repair(SHOP, image, plain=True)
        if update is not None:
            self.succeeds(partial(self.client.update_item, **update))

    def everything_of(self, customer: str) -> List[Any]:
        return tables.ask(self.client, SHOP_EVERYTHING_OF({"customerId": customer}), limit=3).all()
