"""Shows a conversation of a space, past and live: python3 watch.py THREAD

The environment has MEUP_URL, MEUP_SPACE and MEUP_TOKEN. docs/protocol/8-events.md describes the events.
"""

import json
import os
import sys
import time
import urllib.request

URL = f"{os.environ['MEUP_URL']}/api/spaces/{os.environ['MEUP_SPACE']}/threads/{sys.argv[1]}/events"
MARKS = {"thought": "…", "called": "→", "returned": "←", "closed": "■", "answered": "»", "settled": "✓", "ended": "──"}


def show(event):
    kind, text, payload = event["type"], event.get("text", ""), event.get("envelope", {}).get("payload", {})
    if kind == "asked":
        print(f"\n{event['turn']}. {event['from']}: {text}")
    elif kind == "proposed":
        print("  ?", event["from"], "asks for", payload["params"]["name"], "- you may decide" if event.get("may_decide") else "")
    elif kind in MARKS:
        print(" ", MARKS[kind], event.get("from", ""), text or event.get("state", "") or payload.get("params", {}).get("name", ""))
    sys.stdout.flush()


position, fields = "", {}
while True:
    request = urllib.request.Request(URL, headers={"Authorization": f"Bearer {os.environ['MEUP_TOKEN']}", "Last-Event-ID": position})
    try:
        for line in urllib.request.urlopen(request):
            field, _, value = line.decode().rstrip("\n").partition(": ")
            fields = {field: value} if field == "event" else {**fields, field: value}
            if field == "data" and fields["event"] != "system":
                show(json.loads(value))
                position = fields.get("id", position)
    except OSError as err:
        if getattr(err, "code", 503) != 503:
            sys.exit(str(err))
    time.sleep(2)  # the gateway was restarted: go on behind the last event
