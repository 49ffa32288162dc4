-- Put in front of acquire.lua and release.lua.
--
-- KEYS: 1 the lock, 2 its fence, 3 its queue.
--
-- Three rules hold for every script. The first write is the one that decides:
-- Redis takes nothing back, so a script that is refused must be refused before
-- it has done anything. A message is sent last, for the same reason. A number
-- becomes text through string.format('%.0f') alone: real Redis turns
-- 1789000000123456 into "1.7890000001235e+15" when it is concatenated.

-- How long a fence outlives its last use and a queue the last look of its last
-- waiter, in milliseconds. The Go code explains them.
local RETENTION, QUEUE_TTL = 900000, 60000

-- micros is the server's time in microseconds since 1970.
local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- The fence is "<first> <last> <holder> <released>": tokens first..last were
-- minted for holder; released is the owner of the last release that applied, or
-- "-". Behind it, rarely, " <us> <owner>...": the buried, owners that gave up
-- while an attempt of theirs was still on its way, and when the last of them
-- did.
--
-- fence returns first, last, holder, released and what is behind, or nil and an
-- error reply. A counter that cannot be read is an error and not a fresh start:
-- a fresh start could mint a lower token. From 2^53 on neighbouring integers
-- share a double.
local function fence()
  local text = redis.pcall('GET', KEYS[2])
  if not text then
    return 0, 0, '-', '-', ''
  elseif type(text) == 'table' then
    return nil, text
  end
  local first, last, holder, released, buried =
    string.match(text, '^(%d+) (%d+) (%S+) (%S+)(.*)$')
  first, last = tonumber(first or ''), tonumber(last or '')
  if not (first and last and first <= last and last < 9007199254740991)
    or (buried ~= '' and not string.find(buried, '^ %d+ %S')) then
    return nil, redis.error_reply('BADFENCE the fence of this lock is not one of ours')
  end
  return first, last, holder, released, buried
end

local function store(first, last, holder, released, buried)
  redis.call('SET', KEYS[2],
    string.format('%.0f %.0f %s %s%s', first, last, holder, released, buried), 'PX', RETENTION)
end

-- grant pops the head of the queue and writes the key for it, for the time of
-- the claim window. It returns the head's channel and owner, to be published in
-- the end. An entry of the owner that is leaving is dropped; so is one that
-- nobody here wrote.
local function grant(claim, prefix, leaving)
  for _ = 1, 16 do
    local head = redis.call('ZPOPMIN', KEYS[3])[1]
    if not head then
      return nil
    end
    local inbox, owner = string.match(head, '^([^:]+):(%S+)$')
    if owner and owner ~= leaving then
      redis.call('SET', KEYS[1], owner, 'PX', claim)
      return prefix .. inbox, owner
    end
  end
end
