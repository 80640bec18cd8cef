"""Replace `${NAME}` in the texts of settings from the environment, so that files hold no secret."""

import re
from collections.abc import Mapping

from router.errors import SettingsInvalid

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def expanded(text: str, where: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables replaced; blanks around a value, such as a file's last line break, go.

    Raises SettingsInvalid, naming the place `where` and no value, for a variable that is missing or empty: a server
    would get an empty key.
    """
    for name in _VARIABLE.findall(text):
        if not variables.get(name, "").strip():
            raise SettingsInvalid(f"{where}: the environment has no {name}, or it is empty: set it, or write the value")
    return _VARIABLE.sub(lambda match: variables[match[1]].strip(), text)
