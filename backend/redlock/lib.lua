-- Put in front of the scripts that need it.
--
-- Two rules hold for all of them. The first write is the one that decides: Redis
-- takes nothing back, so a script that is refused must be refused before it has
-- done anything. A number becomes text through string.format('%.0f') alone: real
-- Redis turns 1789000000123456 into "1.7890000001235e+15" when it is
-- concatenated.

-- How long a counter of tokens outlives its last use, in milliseconds. After that
-- tokens rise by the clocks of the nodes alone; and strangers choose the keys, so
-- it is not kept for ever.
local RETENTION = 900000

-- micros is the server's time in microseconds since 1970.
local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

-- The value of a lock is "<owner>", or "<owner> <generation>" if an attempt of
-- this owner has failed before. generation returns which one wrote the value,
-- or nil if that was another owner.
local function generation(value, owner)
  if value == owner then
    return 0
  elseif type(value) == 'string' and string.sub(value, 1, #owner + 1) == owner .. ' ' then
    return tonumber(string.sub(value, #owner + 2))
  end
end

-- memory returns for how many microseconds this server has certainly forgotten
-- nothing, as far as can be told. The marker says since when; it is gone if the
-- data is gone, and another process has another run_id. Who may not call INFO
-- still has the marker. A clock that was set back says nothing of how long.
local function memory(marker, now)
  local info = redis.pcall('INFO', 'server')
  local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
  local known, since = string.match(redis.call('GET', marker) or '', '^(%S+) (%d+)$')
  if not since or (run and run ~= known) or tonumber(since) > now then
    since = now
    redis.call('SET', marker, string.format('%s %.0f', run or '-', since))
  end
  return now - since
end

-- The counter is "<first> <last> <holder> <released>": tokens first..last were
-- minted for holder; released is the owner of the last release that applied, or
-- "-". counter returns the four, or nil and an error reply: a counter that
-- cannot be read is no fresh start, which could mint a lower token. From 2^53 on
-- neighbouring integers share a double.
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
