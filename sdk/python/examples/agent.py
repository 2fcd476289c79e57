import meup

space = meup.connect()  # MEUP_URL, MEUP_TOKEN, MEUP_SPACE


@space.on_question
async def answer(question: meup.Question) -> None:
    async with question.reasoning() as r:
        await r.thought("The weather service has the temperature.")
        result = await r.call_tool("weather/temperature", {"city": "Oslo"})
        await r.conclude(f"It returned {result.text}.")
    await question.answer(f"In Oslo it is {result.text} °C.")


meup.run(space)
