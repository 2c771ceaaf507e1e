import asyncio

from resay_server.journal import JournalConfig, JournalError, open_journal

journal = open_journal(JournalConfig(url="postgresql://127.0.0.1:9/journal"))
try:
    asyncio.run(journal.recent(1))
except JournalError:
    pass
else:
    raise AssertionError("there is no server")
