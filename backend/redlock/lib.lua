-- Put in front of the scripts that need it.
--
-- Two rules hold for all scripts. The first write decides: Redis undoes nothing, so a
-- script that is refused must be refused before it has written. A number becomes text only
-- by string.format('%.0f'): real Redis makes "1.7890000001235e+15" of 1789000000123456 when
-- it is concatenated.

-- How long a counter of tokens is kept after its last use, in milliseconds. After that
-- tokens rise only by the clocks of the nodes. Counters are not kept forever, because
-- clients choose the keys.
local RETENTION = 900000

-- micros returns the time of the server, in microseconds since 1970.
local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- The value of a lock is "<owner>", or "<owner> <generation>" if an attempt of this owner
-- has failed before. generation_of returns the generation of the value, or nil if another
-- owner wrote it.
local function generation_of(value, owner)
  if value == owner then
    return 0
  elseif type(value) == 'string' and string.sub(value, 1, #owner + 1) == owner .. ' ' then
    return tonumber(string.sub(value, #owner + 2))
  end
end

-- data_age returns for how many microseconds the data of this server is complete. The
-- marker says since when. It is gone if the data is gone, and another process has another
-- run_id. Without the right to call INFO only the marker counts. If the clock was set back
-- the age is not known, and starts again.
local function data_age(marker, now)
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
  local known, since = string.match(redis.call('GET', marker) or '', '^(%S+) (%d+)$')
  if not since or (run and run ~= known) or tonumber(since) > now then
    since = now
    redis.call('SET', marker, string.format('%s %.0f', run or '-', since))
  end
  return now - since
end

-- The counter is "<first> <last> <holder> <released>": the tokens first..last were minted
-- for holder; released is the owner of the last release that took effect, or "-". counter
-- returns the four, or nil and an error reply if it cannot be read: a new counter could
-- mint a lower token. From 2^53 on two integers may be the same double.
local function counter(key)
  local text = redis.pcall('GET', key)
  if not text then
    return 0, 0, '-', '-'
  elseif type(text) == 'table' then
    return nil, text
  end
  local first, last, holder, released = string.match(text, '^(%d+) (%d+) (%S+) (%S+)$')
  first, last = tonumber(first or ''), tonumber(last or '')
  if not (first and last and first <= last and last < 9007199254740991) then
    return nil, redis.error_reply('BADTOKEN the token of this lock is not one of ours')
  end
  return first, last, holder, released
end

local function store(key, first, last, holder, released)
  redis.call('SET', key, string.format('%.0f %.0f %s %s', first, last, holder, released), 'PX', RETENTION)
end
