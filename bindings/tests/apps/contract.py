"""The calls of each Python application of this folder, for `driver.py`."""

from typing import Any, Dict, List, Literal, Optional, Protocol, Tuple, TypedDict


class Customer(TypedDict):
    customerId: str
    name: str
    visits: int
    log: List[str]


class Order(TypedDict):
    customerId: str
    orderId: str
    status: Literal["open", "paid"]
    placedAt: str
    total: int


class Product(TypedDict):
    productId: str
    price: int
    stock: int


class Shop(Protocol):
    def add_customer(self, customer: Customer) -> None: ...
    def add_product(self, product: Product) -> None: ...
    def place_order(self, order: Order) -> bool:
        """False if there is such an order."""
    def order(self, customer: str, order: str) -> object: ...
    def products(self, ids: List[str]) -> List[Any]: ...
    def open_orders(self, since: str) -> List[Any]:
        """The open orders from this day on."""
    def open_orders_page(self, size: int, page: Optional[Any]) -> Tuple[List[Any], Optional[Any]]: ...
    def visit(self, customer: str, note: str) -> None:
        """Counts the visit and appends a note to the log."""
    def pay(self, customer: str, order: str, product: str) -> bool:
        """Marks the order as paid and takes the product from the stock; false if it is paid, sold out, or the customer is unknown."""
    def cancel(self, customer: str, order: str) -> bool:
        """Deletes an open order; false if it is not open."""
    def log_in(self, customer: str, token: str, expires: int) -> None:
        """Stores a session that DynamoDB deletes after this second."""
    def repair(self, image: Dict[str, Any]) -> None:
        """A consumer of the table's stream: corrects the keys of an order that a writer left behind."""
    def everything_of(self, customer: str) -> List[Any]:
        """All items of a customer, three in a page."""
