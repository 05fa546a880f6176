import os
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Optional, Tuple

from contract import Customer as CustomerInput, Order as OrderInput, Product as ProductInput, Shop
from pynamodb.attributes import DiscriminatorAttribute, ListAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.connection import Connection
from pynamodb.exceptions import DeleteError, PutError, TransactWriteError, UpdateError
from pynamodb.expressions.update import Action
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

HOST = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]


def customer_key(customer: str) -> Tuple[str, str]:
    return f"customer#{customer}", "profile"


def order_key(customer: str, order: str) -> Tuple[str, str]:
    return f"customer#{customer}", f"order#{order}"


def product_key(product: str) -> Tuple[str, str]:
    return f"product#{product}", "product"


class Row(Model):
    class Meta:
        table_name = "Shop"
        host = HOST
        region = "us-east-1"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    kind = DiscriminatorAttribute()


class Customer(Row, discriminator="customer"):
    customerId = UnicodeAttribute()
    name = UnicodeAttribute()
    visits = NumberAttribute(null=True)
    log: ListAttribute[Any] = ListAttribute(null=True)


class ByStatus(GlobalSecondaryIndex["Order"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "byStatus"
        projection = AllProjection()

    gsi1pk = UnicodeAttribute(hash_key=True)
    gsi1sk = UnicodeAttribute(range_key=True)


class Order(Row, discriminator="order"):
    customerId = UnicodeAttribute()
    orderId = UnicodeAttribute()
    status = UnicodeAttribute()
    placedAt = UnicodeAttribute()
    total = NumberAttribute()
    gsi1pk = UnicodeAttribute()
    gsi1sk = UnicodeAttribute()
    by_status = ByStatus()

    def keys_by_status(self) -> Tuple[str, str]:
        return f"orders#{self.status}", f"{self.placedAt}#{self.orderId}"


class Product(Row, discriminator="product"):
    productId = UnicodeAttribute()
    price = NumberAttribute()
    stock = NumberAttribute()


class Session(Row, discriminator="session"):
    customerId = UnicodeAttribute()
    token = UnicodeAttribute()
    expiresAt = TTLAttribute(null=True)


def succeeds(call: Callable[[], object]) -> bool:
    try:
        call()
    except (DeleteError, PutError, TransactWriteError, UpdateError) as error:
        if error.cause_response_code in ("ConditionalCheckFailedException", "TransactionCanceledException"):
            return False
        raise
    return True


class Application(Shop):
    def __init__(self, client: Any) -> None:
        self.connection = Connection(region="us-east-1", host=HOST)

    def add_customer(self, customer: CustomerInput) -> None:
        Customer(*customer_key(customer["customerId"]), **customer).save()

    def add_product(self, product: ProductInput) -> None:
        Product(*product_key(product["productId"]), **product).save()

    def place_order(self, order: OrderInput) -> bool:
        row = Order(*order_key(order["customerId"], order["orderId"]), **order)
        row.gsi1pk, row.gsi1sk = row.keys_by_status()
        return succeeds(lambda: row.save(condition=Order.pk.does_not_exist()))

    def order(self, customer: str, order: str) -> Optional[Order]:
        try:
            return Order.get(*order_key(customer, order))
        except Order.DoesNotExist:
            return None

    def products(self, ids: List[str]) -> List[Product]:
        return list(Product.batch_get([product_key(product) for product in ids]))

    def open_orders(self, since: str) -> List[Order]:
        return list(Order.by_status.query("orders#open", Order.gsi1sk >= since))

    def open_orders_page(self, size: int, page: Optional[Dict[str, Any]]) -> Tuple[List[Order], Optional[Dict[str, Any]]]:
        found = Order.by_status.query("orders#open", limit=size, last_evaluated_key=page)
        return list(found), found.last_evaluated_key

    def visit(self, customer: str, note: str) -> None:
        log = (Customer.log | []).append([note])
        Customer(*customer_key(customer)).update(actions=[Customer.visits.add(1), Customer.log.set(log)])

    def pay(self, customer: str, order: str, product: str) -> bool:
        def writes() -> None:
            with TransactWrite(connection=self.connection) as transaction:
                paid: List[Action] = [Order.status.set("paid"), Order.gsi1pk.set("orders#paid")]
                transaction.update(Order(*order_key(customer, order)), actions=paid, condition=Order.status == "open")
                transaction.update(Product(*product_key(product)), actions=[Product.stock.add(-1)], condition=Product.stock > 0)
                transaction.condition_check(Customer, *customer_key(customer), condition=Customer.name.exists())

        return succeeds(writes)

    def cancel(self, customer: str, order: str) -> bool:
        return succeeds(lambda: Order(*order_key(customer, order)).delete(Order.status == "open"))

    def log_in(self, customer: str, token: str, expires: int) -> None:
        at = datetime.fromtimestamp(expires, timezone.utc)
        Session(f"customer#{customer}", f"session#{token}", customerId=customer, token=token, expiresAt=at).save()

    def repair(self, image: Dict[str, Any]) -> None:
        row = Row.from_raw_data(image)
        if not isinstance(row, Order) or (row.gsi1pk, row.gsi1sk) == row.keys_by_status():
            return
        partition, sort = row.keys_by_status()
        unchanged = (Order.status == row.status) & (Order.placedAt == row.placedAt)
        succeeds(lambda: row.update(actions=[Order.gsi1pk.set(partition), Order.gsi1sk.set(sort)], condition=unchanged))

    def everything_of(self, customer: str) -> List[Row]:
        return list(Row.query(f"customer#{customer}", page_size=3))
