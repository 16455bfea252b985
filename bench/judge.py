"""What counts: a run whose supervisor did its work. All else is a failed run with reasons."""

import json


def read_receipt(path):
    """The receipt, or None and why it is none."""
    try:
        receipt = json.loads(path.read_text())
    except FileNotFoundError:
        return None, "no receipt"
    except (OSError, ValueError) as error:
        return None, f"unreadable receipt: {error}"
    if not isinstance(receipt, dict):
        return None, "the receipt is no JSON object"
    return receipt, ""


def about_survivors(row, writes_receipt, must_be_gone):
    if row["left_later"]:
        return ["survivors"]
    # Dying, but not gone: whoever confirms an end, or is asked for one, must not leave before.
    if row["left_now"] and (writes_receipt or must_be_gone):
        return ["descendants still dying"]
    return []


def about_receipt(row, receipt, problem, code, timed_out):
    if receipt is None:
        return [problem]
    wrong = []
    if receipt.get("cleanup_confirmed") is not True:
        wrong.append(f"not confirmed ({receipt.get('error')})")
    elif row["left_now"]:
        wrong.append("FALSE RECEIPT: confirmed, and something lives")
    elif receipt.get("error"):
        wrong.append(f"the receipt has an error ({receipt['error']})")
    if row["torn"]:
        wrong.append("the receipt could be read before it was whole")
    if code is not None and receipt.get("return_code") != code:
        wrong.append(f"the receipt says return code {receipt.get('return_code')}, not {code}")
    if timed_out is not None and receipt.get("timed_out") is not timed_out:
        wrong.append(f"the receipt says timed_out {receipt.get('timed_out')}")
    return wrong


def faults(row, receipt=None, problem="", *, writes_receipt=False, must_be_gone=False,
           must_run=True, code=None, timed_out=None):  # fmt: skip
    """Why this row of the runner does not count; empty if it does.

    must_be_gone: all descendants when the supervisor leaves. must_run: the worker. A peer without a
    receipt must pass `code` on as its exit code.
    """
    wrong = ["did not exit in time"] if row["hung"] else []
    wrong += about_survivors(row, writes_receipt, must_be_gone)
    if must_run and not row["worker_start"]:
        wrong.append("the worker did not run")
    if row["act_lost"]:
        wrong.append("no TERM reached the worker")
    if writes_receipt:
        wrong += about_receipt(row, receipt, problem, code, timed_out)
    elif code is not None and row["code"] != code:
        wrong.append(f"exit code {row['code']}, signal {row['signal']}, instead of {code}")
    return wrong
