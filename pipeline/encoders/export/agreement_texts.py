"""The texts of the agreement check: requests, tools, and unusual inputs."""

# Requests and tools.
_ORDINARY = (
    "pull failed payments from Stripe, file a support ticket in Linear, and notify the on-call channel in Slack",
    "What's the temperature in São Paulo tomorrow morning?",
    "give the customer their money back",
    "find a flight to Lisbon under 200 euros on Friday evening",
    "who is on call this weekend",
    "summarise the thread about the outage and mail it to my manager",
    "create a branch from main and open a pull request with these changes",
    "how many people signed up last week compared with the week before?",
    "I need to move my dentist appointment to next Tuesday",
    "which containers were restarted since the deployment",
    "convert 300 dollars to yen",
    "remind me to water the plants every three days",
    "delete the duplicate rows in the customers sheet",
    "translate this contract into German and keep the formatting",
    "play something calm while I work",
    "is my package delayed? the tracking number is 1Z999AA10123456784",
    "Returns a list of charges, newest first. status, customer, created, limit",
    "linear: create_issue. Creates an issue in a team. Title, description, assignee, priority.",
    "Sends a message to a channel. tell the team. post an update. message, note, announcement",
    "A tool that reads rows of a spreadsheet. Sheet id, range, whether empty cells are kept.",
    "CRM: find a contact by e-mail address. Categories: sales, people. look up a client, who is this customer",
    "Lists the virtual machines of a subscription, with size, region and power state.",
    "Runs a query over the logs of a service and returns the matching lines within a time range.",
    "Uploads a file to a folder. If a file of that name exists, a new version is kept beside it.",
    "Forecast for a location: temperature, rain and wind by hour for up to seven days.",
    "Grants a user a role on a project. The role must exist; the grant takes effect at once.",
)
# Lengths from nothing to past the limit, scripts, code, numbers.
_ODD = (
    "refund",
    "?",
    "list_charges",
    "getUserById(42)",
    "DELETE FROM users WHERE id = 7; -- drop the stale row",
    "see /var/log/app/error.log, line 4,812",
    "顧客の住所を更新する",
    "покажи неоплаченные счета за прошлый месяц",
    "أرسل رسالة إلى الفريق",
    "ग्राहक का फ़ोन नंबर बदलो",
    "Überweisung an den Lieferanten veranlassen",
    "🚀 ship it 🚀",
    "   spaces \t and \n lines   ",
    "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
    " ".join(["The quarterly report must reach every regional manager before the meeting on Friday."] * 12),
    " ".join(f"step {i}: check the balance, then book the transfer and tell accounting;" for i in range(80)),
)

AGREEMENT_TEXTS = _ORDINARY + _ODD
