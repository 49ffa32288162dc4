-- Passing a lock on: behind sharers.lua.
--
-- A queue is a sorted set of "<inbox>:<owner>" by ticket, with " <what it wants>"
-- behind it where that is not the lock alone. No owner has a space.

-- head returns the first of the queue: the entry, and what it says. An entry of an
-- owner that is leaving is dropped; so is one that nobody here wrote.
local function head(queue, leaving)
  for _ = 1, 16 do
    local entry = redis.call('ZRANGE', queue, 0, 0)[1]
    if not entry then
      return nil
    end
    local inbox, owner, wants = string.match(entry, '^([^:]+):(%S+)(.*)$')
    if owner and owner ~= leaving
      and (wants == '' or wants == ' r' or string.find(wants, '^ p%d+$')) then
      return entry, inbox, owner, string.sub(wants, 2)
    end
    redis.call('ZREM', queue, entry)
  end
end

-- pass lets in who may come in from the head of the queue, beside those who are in:
-- one who wants the lock alone; or readers, until one comes who is none; or as many
-- as there are permits. Each gets the time of the claim window. They are at most
-- sixteen, because the server stands still meanwhile; each that claims lets in
-- further ones.
--
-- It returns what is to be told in the end, the kind of those who are in now (x is
-- one alone), and whether the one whose entry is own is among them: that one is
-- here already, and needs no message.
local function pass(lock, queue, kind, leaving, own)
  local claim, prefix = ARGV[2], ARGV[3]
  local messages, joined, inside = {}, false, false
  for _ = 1, 16 do
    local entry, inbox, owner, wants = head(queue, leaving)
    if not entry or not admits(lock, kind, wants) then
      break
    end
    -- First what Redis never refuses for want of memory.
    redis.call('ZREM', queue, entry)
    if entry == own then
      inside = true
    else
      messages[#messages + 1] = { prefix .. inbox, owner }
    end
    if wants == '' then
      redis.call('SET', lock, owner, 'PX', claim)
      kind = 'x'
      break
    end
    join(lock, wants, owner, claim)
    kind, joined = string.sub(wants, 1, 1), true
  end
  if joined then
    keep(lock)
  end
  return messages, kind, inside
end

local function tell(messages)
  for _, m in ipairs(messages) do
    redis.call('PUBLISH', m[1], m[2])
  end
end
