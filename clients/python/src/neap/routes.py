"""The methods of `Neap`: a call of `neap.calls` each."""

from neap.calls import efforts, memories, memory_changes, server, sessions, turns
from neap.methods import read, sent


class Routes:
    health = sent(server.health)
    openapi = sent(server.openapi)
    report = sent(server.report)
    jobs = sent(server.jobs)
    requests = sent(server.requests)
    events = read(server.events)
    search = sent(server.search)
    expect = sent(server.expect)

    list_sessions = sent(sessions.list_sessions)
    show_session = sent(sessions.show_session)
    put_session = sent(sessions.put_session)
    erase_session = sent(sessions.erase_session)
    preview_session_erasure = sent(sessions.preview_session_erasure)
    export_session = read(sessions.export_session)
    list_events = sent(sessions.list_events)
    session_report = sent(sessions.session_report)
    list_receipts = sent(sessions.list_receipts)
    show_original = sent(sessions.show_original)
    build_context = sent(sessions.build_context)

    list_efforts = sent(efforts.list_efforts)
    open_effort = sent(efforts.open_effort)
    show_effort = sent(efforts.show_effort)
    list_log = sent(efforts.list_log)
    act_on_effort = sent(efforts.act_on_effort)

    list_turns = sent(turns.list_turns)
    series = sent(turns.series)
    list_changes = sent(turns.list_changes)
    explain_turn = sent(turns.explain_turn)
    record_turn = sent(turns.record_turn)
    append_messages = sent(turns.append_messages)
    show_prompt = sent(turns.show_prompt)
    diff_prompts = sent(turns.diff_prompts)

    list_memories = sent(memories.list_memories)
    list_asked = sent(memories.list_asked)
    memory_status = sent(memories.memory_status)
    export_memories = read(memories.export_memories)
    list_frames = sent(memories.list_frames)
    show_memory = sent(memories.show_memory)
    memory_history = sent(memories.memory_history)
    memory_chain = sent(memories.memory_chain)
    preview_memory_erasure = sent(memories.preview_memory_erasure)
    recall = sent(memories.recall)
    expect_memory = sent(memories.expect_memory)
    explain_recall = sent(memories.explain_recall)
    try_pattern = sent(memories.try_pattern)

    remember = sent(memory_changes.remember)
    import_memories = sent(memory_changes.import_memories)
    edit_memory = sent(memory_changes.edit_memory)
    erase_memory = sent(memory_changes.erase_memory)
    act_on_memory = sent(memory_changes.act_on_memory)
    review_memory = sent(memory_changes.review_memory)
    roll_back = sent(memory_changes.roll_back)
