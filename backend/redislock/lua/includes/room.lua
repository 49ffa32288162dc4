-- Room for clients of other libraries, which poll the key.
--
-- As long as owners here wait for each other, the key passes from one to the next, and a client
-- that polls does not find it free. A stretch is a time in which that was so. If it has lasted
-- for a second, or for ten intervals of such a client, the key is left free for a little longer
-- than an interval. That time is the room.
--
-- Two members of the set of tombstones, which are not owners because they contain a space:
--   busy since   the score is the time at which the stretch began. Without it, the stretch began
--                when the present holder got the lock.
--   free since   the score is the time at which a release left the key free. If there is no
--                stretch any more, the room began at that time.
-- A process without room ignores both, and so do older releases.

local INTERVAL = ARGV[#ARGV] * 1000 -- in microseconds, as all times here; 0 if there is no room
local ROOM = INTERVAL * 1.25 + 10000
local STRETCH = math.max(10 * INTERVAL, 1000000)
local BUSY, FREE = 'busy since', 'free since'

-- since returns the score of a member. It returns nil if there is none, or one in the future:
-- then the clock was set back.
local function since(gone, what)
  local score = tonumber((redis.call('ZSCORE', gone, what)))
  if score and score <= tonumber(time()) then
    return score
  end
end

-- issued_at returns when the token of an exclusive lock was issued, or nil if there is no token.
local function issued_at(value)
  local token = value and string.match(value, ' (%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)$')
  return token and tonumber(token)
end

-- keep makes the set exist for at least that many milliseconds.
local function keep(gone, ms)
  if redis.call('PTTL', gone) < ms then
    redis.call('PEXPIRE', gone, string.format('%.0f', ms))
  end
end

-- note_busy records when the stretch began, unless that is recorded. The present holder has
-- the lock for ttl milliseconds.
local function note_busy(gone, began, ttl)
  if not since(gone, BUSY) then
    redis.call('ZADD', gone, string.format('%.0f', math.min(began, time())), BUSY)
  end
  keep(gone, ttl + (STRETCH + ROOM) / 1000)
end

-- stretch_over reports whether owners here have had the key for a stretch.
local function stretch_over(gone, value)
  if INTERVAL == 0 then
    return false
  end
  local began = since(gone, BUSY) or issued_at(value)
  return began ~= nil and time() - began >= STRETCH
end

-- room returns for how many milliseconds a key without holders must stay free, or nil. If the
-- stretch is over, the room begins: when a holder has just released the lock, or if others
-- wait. value is the value of that holder if the lock was exclusive.
local function room(gone, queue, released, value)
  if INTERVAL == 0 then
    return nil
  end
  local free = not released and since(gone, FREE)
  if free and time() - free >= ROOM then
    return nil -- it was free for so long
  elseif free and not since(gone, BUSY) then
    return math.ceil((free + ROOM - time()) / 1000)
  elseif not stretch_over(gone, value) or not released and redis.call('EXISTS', queue) == 0 then
    return nil
  end
  redis.call('ZREM', gone, BUSY)
  redis.call('ZADD', gone, time(), FREE)
  keep(gone, ROOM / 1000)
  return math.ceil(ROOM / 1000)
end

-- taken records that the key was free, and that holders of the kind have it now, for ttl
-- milliseconds at first. A stretch goes on unless the key was free for the time of a room.
local function taken(gone, kind, ttl)
  if INTERVAL == 0 then
    return
  end
  local free = since(gone, FREE)
  if free and time() - free >= ROOM then
    redis.call('ZREM', gone, FREE, BUSY)
  elseif free then
    redis.call('ZREM', gone, FREE)
  end
  if kind ~= 'x' then
    note_busy(gone, time(), ttl) -- there is no value that says when the first of them got it
  end
end

-- pass_on does what grant_next does after an owner has left, unless the key must stay free:
-- then the first waiter is told to ask when it may be granted the lock. released reports
-- whether the owner was the last holder, and value is its value if the lock was exclusive.
-- pass_on returns the messages for publish, and the kind of the holders.
local function pass_on(lock, queue, gone, kind, leaving, released, value)
  if not kind and room(gone, queue, released, value) then
    local entry, inbox, owner = head(queue, leaving)
    return { entry and { ARGV[3] .. inbox, owner } }, nil
  end
  full = kind and stretch_over(gone) and lock
  local messages, after = grant_next(lock, queue, kind, leaving)
  if released and INTERVAL > 0 then
    note_busy(gone, issued_at(value) or tonumber(time()), 0)
    if after then
      redis.call('ZREM', gone, FREE)
    else
      redis.call('ZADD', gone, time(), FREE)
    end
  elseif after and not kind then
    taken(gone, after, ARGV[2])
  end
  return messages, after
end

-- announce sends the message that waiters of another library expect when the key with this
-- number is free, if there is one. It fails silently: the user may not publish there.
local function announce(i)
  local n = (#KEYS - 1) / 3
  local channel, message = ARGV[2 + 3 * n + 2 * i], ARGV[3 + 3 * n + 2 * i]
  if channel ~= '' then
    redis.pcall('PUBLISH', channel, message)
  end
end
