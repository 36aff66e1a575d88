"""The methods of `AsyncNeap`: a call of `neap.calls` each."""

from neap.calls import efforts, memories, memory_changes, server, sessions, turns
from neap.methods import awaited, iterated


class AsyncRoutes:
    health = awaited(server.health)
    openapi = awaited(server.openapi)
    report = awaited(server.report)
    jobs = awaited(server.jobs)
    requests = awaited(server.requests)
    events = iterated(server.events)
    search = awaited(server.search)
    expect = awaited(server.expect)

    list_sessions = awaited(sessions.list_sessions)
    show_session = awaited(sessions.show_session)
    put_session = awaited(sessions.put_session)
    erase_session = awaited(sessions.erase_session)
    preview_session_erasure = awaited(sessions.preview_session_erasure)
    export_session = iterated(sessions.export_session)
    list_events = awaited(sessions.list_events)
    session_report = awaited(sessions.session_report)
    list_receipts = awaited(sessions.list_receipts)
    show_original = awaited(sessions.show_original)
    build_context = awaited(sessions.build_context)

    list_efforts = awaited(efforts.list_efforts)
    open_effort = awaited(efforts.open_effort)
    show_effort = awaited(efforts.show_effort)
    list_log = awaited(efforts.list_log)
    act_on_effort = awaited(efforts.act_on_effort)

    list_turns = awaited(turns.list_turns)
    series = awaited(turns.series)
    list_changes = awaited(turns.list_changes)
    explain_turn = awaited(turns.explain_turn)
    record_turn = awaited(turns.record_turn)
    append_messages = awaited(turns.append_messages)
    show_prompt = awaited(turns.show_prompt)
    diff_prompts = awaited(turns.diff_prompts)

    list_memories = awaited(memories.list_memories)
    list_asked = awaited(memories.list_asked)
    memory_status = awaited(memories.memory_status)
    export_memories = iterated(memories.export_memories)
    list_frames = awaited(memories.list_frames)
    show_memory = awaited(memories.show_memory)
    memory_history = awaited(memories.memory_history)
    memory_chain = awaited(memories.memory_chain)
    preview_memory_erasure = awaited(memories.preview_memory_erasure)
    recall = awaited(memories.recall)
    expect_memory = awaited(memories.expect_memory)
    explain_recall = awaited(memories.explain_recall)
    try_pattern = awaited(memories.try_pattern)

    remember = awaited(memory_changes.remember)
    import_memories = awaited(memory_changes.import_memories)
    edit_memory = awaited(memory_changes.edit_memory)
    erase_memory = awaited(memory_changes.erase_memory)
    act_on_memory = awaited(memory_changes.act_on_memory)
    review_memory = awaited(memory_changes.review_memory)
    roll_back = awaited(memory_changes.roll_back)
