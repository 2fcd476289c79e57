from typing import Literal

import meup

space = meup.connect()  # MEUP_URL, MEUP_TOKEN, MEUP_SPACE


@space.serve_tools
async def temperature(city: str, unit: Literal["C", "F"] = "C") -> str:
    """Returns the temperature in a city."""
    celsius = {"Oslo": -3, "Rome": 14}.get(city)
    if celsius is None:
        raise meup.ToolError(f"no station in {city}")
    return str(celsius if unit == "C" else celsius * 9 / 5 + 32)


meup.run(space)
