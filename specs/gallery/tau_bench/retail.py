"""The tools of a shop: each reads the data of the shop, or changes them where the rules of the shop allow that."""


def _order(shop, order_id, status=None):
    if order_id not in shop["orders"]:
        raise ValueError("order not found")
    order = shop["orders"][order_id]
    if status is not None and order["status"] != status:
        raise ValueError(f"this is for {status} orders, and the order is {order['status']}")
    return order


def _method(shop, order, payment_method_id):
    methods = shop["users"][order["user_id"]]["payment_methods"]
    if payment_method_id not in methods:
        raise ValueError("payment method not found")
    return methods[payment_method_id]


def _has_items(order, item_ids):
    there = [item["item_id"] for item in order["items"]]
    if any(item_ids.count(each) > there.count(each) for each in item_ids):
        raise ValueError("the order has no such item, or not as many")


def find_user_id_by_email(shop, email):
    """The id of a user."""
    for user_id, user in shop["users"].items():
        if user["email"].lower() == email.lower():
            return user_id
    raise ValueError("user not found")


def find_user_id_by_name_zip(shop, first_name, last_name, zip):
    """The id of a user."""
    for user_id, user in shop["users"].items():
        names = user["name"]["first_name"].lower(), user["name"]["last_name"].lower()
        if names == (first_name.lower(), last_name.lower()) and user["address"]["zip"] == zip:
            return user_id
    raise ValueError("user not found")


def get_user_details(shop, user_id):
    """The profile of a user, with the ids of the orders."""
    if user_id not in shop["users"]:
        raise ValueError("user not found")
    return shop["users"][user_id]


def get_order_details(shop, order_id):
    """An order."""
    return _order(shop, order_id)


def get_product_details(shop, product_id):
    """A product with its variants."""
    if product_id not in shop["products"]:
        raise ValueError("product not found")
    return shop["products"][product_id]


def cancel_pending_order(shop, order_id, reason):
    """Cancel an order, and pay gift cards back at once."""
    order = _order(shop, order_id, "pending")
    refunds = [
        {"transaction_type": "refund", "amount": each["amount"], "payment_method_id": each["payment_method_id"]}
        for each in order["payment_history"]
    ]
    for refund in refunds:
        if "gift_card" in refund["payment_method_id"]:
            card = _method(shop, order, refund["payment_method_id"])
            card["balance"] = round(card["balance"] + refund["amount"], 2)
    order["status"], order["cancel_reason"] = "cancelled", reason
    order["payment_history"].extend(refunds)
    return order


def modify_pending_order_address(shop, order_id, address1, address2, city, state, country, zip):
    """Send an order elsewhere."""
    order = _order(shop, order_id, "pending")
    order["address"] = {
        "address1": address1, "address2": address2, "city": city, "state": state, "country": country, "zip": zip,
    }  # fmt: skip
    return order


def return_delivered_order_items(shop, order_id, item_ids, payment_method_id):
    """Take items back; the money goes where it came from, or to a gift card."""
    order = _order(shop, order_id, "delivered")
    _method(shop, order, payment_method_id)
    if "gift_card" not in payment_method_id and payment_method_id != order["payment_history"][0]["payment_method_id"]:
        raise ValueError("the money goes to the original payment method or to a gift card")
    _has_items(order, item_ids)
    order["status"], order["return_items"] = "return requested", sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return order


def exchange_delivered_order_items(shop, order_id, item_ids, new_item_ids, payment_method_id):
    """Exchange items for others of the same product that are in stock."""
    order = _order(shop, order_id, "delivered")
    _has_items(order, item_ids)
    if len(item_ids) != len(new_item_ids):
        raise ValueError("there must be a new item for each old one")
    difference = 0
    for old, new in zip(item_ids, new_item_ids, strict=True):
        item = next(each for each in order["items"] if each["item_id"] == old)
        variant = shop["products"][item["product_id"]]["variants"].get(new)
        if variant is None or not variant["available"]:
            raise ValueError(f"item {new} is not to be had")
        difference += variant["price"] - item["price"]
    method, difference = _method(shop, order, payment_method_id), round(difference, 2)
    if method["source"] == "gift_card" and method["balance"] < difference:
        raise ValueError("the gift card does not cover the difference")
    order["status"], order["exchange_items"] = "exchange requested", sorted(item_ids)
    order["exchange_new_items"], order["exchange_payment_method_id"] = sorted(new_item_ids), payment_method_id
    order["exchange_price_difference"] = difference
    return order


def transfer_to_human_agents(shop, summary):
    """Hand the user over."""
    return "Transfer successful"
