"""Takes money for orders."""

from __future__ import annotations

import logging

from pay.bank import Http

log = logging.getLogger(__name__)


def charge(http: Http, order: int, cents: int) -> str:
    """Charge an order and return the bank's number for it.

    Raises:
        Timeout: The bank did not answer; somebody has to look whether it took the money.

    """
    body = {"order": str(order), "cents": str(cents)}
    answer = http.post("/charges", body, headers={})
    log.info("order %d was charged", order)
    return answer["number"]
