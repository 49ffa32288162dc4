-- The queue, and granting a lock to the waiters at its head. Follows after shared.lua.
--
-- A queue is a sorted set of "<inbox>:<owner>", scored by ticket. If the waiter does not
-- ask for an exclusive lock, " <share>" follows: see shared.lua. Owners contain no spaces.

-- head returns the first entry of the queue and its parts. It drops the entries of the
-- owner that is leaving, and entries of another form.
local function head(queue, leaving)
  for _ = 1, 16 do
    local entry = redis.call('ZRANGE', queue, 0, 0)[1]
    if not entry then
      return nil
    end
    local inbox, owner, share = string.match(entry, '^([^:]+):(%S+)(.*)$')
    if owner and owner ~= leaving
      and (share == '' or share == ' r' or string.find(share, '^ p%d+$')) then
      return entry, inbox, owner, string.sub(share, 2)
    end
    redis.call('ZREM', queue, entry)
  end
end

-- grant_next grants the lock to the waiters at the head of the queue that may join the
-- present holders: to one waiter that asks for an exclusive lock, or to readers up to the
-- first other waiter, or to as many waiters as there are free permits. Each gets the time
-- of the claim window. It grants to at most sixteen, because the script stops the server;
-- each that claims the lock grants it to further ones.
--
-- It returns the messages for publish, the new kind of the holders (x is an exclusive
-- one), and whether the waiter with the entry own is among them. That waiter is the
-- caller, so it gets no message.
local function grant_next(lock, queue, kind, leaving, own)
  local claim, prefix = ARGV[2], ARGV[3]
  local messages, joined, own_granted = {}, false, false
  for _ = 1, 16 do
    local entry, inbox, owner, share = head(queue, leaving)
    if not entry or not admits(lock, kind, share) then
      break
    end
    -- First a command that Redis does not refuse when it is out of memory.
    redis.call('ZREM', queue, entry)
    if entry == own then
      own_granted = true
    else
      messages[#messages + 1] = { prefix .. inbox, owner }
    end
    if share == '' then
      redis.call('SET', lock, owner, 'PX', claim)
      kind = 'x'
      break
    end
    add_holder(lock, share, owner, claim)
    kind, joined = string.sub(share, 1, 1), true
  end
  if joined then
    expire_with_last(lock)
  end
  return messages, kind, own_granted
end

local function publish(messages)
  for _, m in ipairs(messages) do
    redis.call('PUBLISH', m[1], m[2])
  end
end
