"""Thirty honest tools of twenty providers, their expansions, and a request for each, in other words."""

from typing import Any

# provider|name|description|a request; below it the phrases that a model wrote
_TABLE = """
stripe|create_refund|Refunds a charge, in full or in part.|a client was charged twice, pay one back
    give a customer their money back;undo a card payment;return what they paid
stripe|list_charges|Lists charges, newest first.|show me the declined payments
    which payments failed this week;show recent card payments;who was charged in May
stripe|create_invoice|Creates an invoice for a customer.|bill Acme for the workshop
    bill the customer for two hours;draft an invoice;charge them for the workshop
gmail|send_message|Sends an e-mail message.|email the minutes to everyone
    send an email to Ana;write to the supplier;mail the report to finance
gmail|search_messages|Searches the mailbox.|where is the mail with the contract
    find the mail from the bank;look for emails about the lease;where is that message from HR
skytrip|book_flight|Books a seat on a flight.|book me a flight to Lisbon on Friday
    get me on the morning flight;reserve a plane seat;book two tickets to Oslo
skytrip|search_flights|Searches flights between two airports.|which planes go to Madrid tomorrow
    cheapest flight to Rome;planes from Paris on Monday;when can I fly to Oslo
skytrip|cancel_booking|Cancels a booking of a flight.|I can't fly any more, cancel my seat
    call off my trip;I cannot travel, cancel it;drop the flight reservation
slack|post_message|Posts a message to a channel.|let the team know that we ship today
    tell the team in the channel;announce the release;write to everyone on call
slack|list_channels|Lists the channels of a workspace.|what rooms can I join
    which channels are there;show every room;find the channel for design
github|create_issue|Opens an issue in a repository.|file a bug about the broken login
    report a bug;file a ticket for the crash;open an issue about the login
github|list_pull_requests|Lists pull requests of a repository.|which pull requests need a review
    what is waiting for review;open merge requests;which changes are not merged
calendar|create_event|Creates an event in a calendar.|put the dentist in my calendar
    put lunch with Eva in my diary;schedule the review;block Tuesday morning
calendar|find_free_time|Finds time when several people are free.|when are Eva and Tom both free
    when can we all meet;a free hour for three of us;next slot with Tom
skies|get_forecast|Returns the weather forecast for a place.|will it rain tomorrow in Bern
    will it rain on Sunday;how warm does it get;do I need an umbrella
drive|upload_file|Uploads a file to a folder.|save the scan in my folder
    put the slides in the folder;save this document online;store the scan
drive|share_file|Shares a file with people.|let Ana open the budget file
    give Ana access to the deck;let the client see the plan;share the budget sheet
jira|transition_issue|Moves an issue to another state.|mark the login ticket as done
    mark the task as done;move it to review;reopen the ticket
zoom|create_meeting|Creates a video meeting with a link to join.|set up a video call for Monday
    set up a video call;start a call with the client;link for tomorrow's standup
shopify|list_orders|Lists the orders of a shop.|which orders have not shipped
    what did we sell today;orders not shipped yet;show the latest orders
shopify|update_inventory|Sets how many of a product are in stock.|we have thirty more mugs in stock
    we got forty new mugs;set the stock of the lamp;correct the inventory
twilio|send_sms|Sends a text message to a phone.|send the driver the door code by SMS
    text the courier;send an SMS with the code;message her phone
spotify|play_track|Plays a song.|put on a song by Nina Simone
    put on some jazz;play that song again;start my running mix
maps|get_directions|Returns a route between two places.|fastest way to the airport by car
    how do I get to the station;fastest way home;walk from here to the museum
hubspot|create_contact|Creates a contact.|add the woman from the fair to our leads
    add Dana to our contacts;new lead from the fair;save this business card
datadog|query_metrics|Returns a metric over time.|how high was the load on the server
    how busy was the server;plot memory of the database;error rate since noon
notion|create_page|Creates a page in a workspace.|start a wiki page about the offsite
    start a page for the offsite;write this down in the wiki;new note on hiring
bank|transfer_money|Transfers money to an account.|send fifty euros to my sister
    send my sister fifty euros;pay the rent;move money to savings
people|request_leave|Requests days off.|I'd like to take Friday off
    I want Friday off;take a week of holiday;ask for parental leave
lingua|translate_text|Translates a text into another language.|how do you say this in French
    say this in French;what does this Spanish mean;put the letter into German
"""
_LINES = _TABLE.strip().splitlines()


def _row(tool: str, phrases: str) -> tuple[str, str, str, str, list[str]]:
    provider, name, text, request = tool.split("|")
    return provider, name, text, request, phrases.strip().split(";")


_ROWS = [_row(tool, phrases) for tool, phrases in zip(_LINES[::2], _LINES[1::2], strict=True)]

REQUESTS: dict[str, str] = {request: f"{provider}/{name}" for provider, name, _, request, _ in _ROWS}


def tools() -> list[dict[str, Any]]:
    """Return the lines of tools.jsonl."""
    schema = {"type": "object", "properties": {"id": {"type": "string", "description": "Which one."}}}
    return [
        {"id": f"{provider}/{name}", "name": name, "provider": provider, "description": text, "parameters": schema}
        for provider, name, text, _, _ in _ROWS
    ]


def answers() -> dict[str, dict[str, Any]]:
    """Return the answers of an honest model, by the tool's name."""
    return {
        name: {
            "tool": name,
            "when_to_use": f"When somebody needs what {provider} does: {text.lower()}",
            "user_phrases": phrases,
            "synonyms": [name.replace("_", " ")],
            "related_concepts": [],
            "task_categories": [],
        }
        for provider, name, text, _, phrases in _ROWS
    }
