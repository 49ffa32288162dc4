-- Behind the first part of every script that has two.
--
-- Three rules hold for every script. The first write for a lock is the one that
-- decides: Redis takes nothing back, so what is refused must be refused before
-- anything is done. A message is sent last, for the same reason. A number becomes
-- text through string.format('%.0f') alone: real Redis turns 1789000000123456
-- into "1.7890000001235e+15" when it is concatenated.

-- read returns the value of a key, which MGET gave as value: nil if there is
-- none, a table if it is an error. To MGET what is no string is nothing; and in a
-- batch it looked before the locks in front of this one were dealt with.
local function read(key, value)
  if value and n == 1 then
    return value
  end
  return redis.pcall('GET', key) or nil
end

-- The fence is "<first> <last> <holder> <released>", the numbers with sixteen
-- digits: tokens first..last were minted for holder; released is the owner of the
-- last release of an exclusive lock that applied, or "-". Behind it, rarely,
-- " <us> <owner>... - <owner>...": the buried, and when the last of them was. Up to
-- the lone "-" they are owners that gave up while an attempt of theirs was still on
-- its way; behind it, sharers that have released.
--
-- fence returns first, last, holder, released and what is behind, or nil and an
-- error. A counter that cannot be read is an error and not a fresh start: a fresh
-- start could mint a lower token. From 2^53 on neighbouring integers share a
-- double.
local function fence(key, value)
  local text = read(key, value)
  if not text then
    return 0, 0, '-', '-', ''
  elseif type(text) == 'table' then
    return nil, text.err
  end
  local first, last, holder, released, buried =
    string.match(text, '^(%d+) (%d+) (%S+) (%S+)(.*)$')
  first, last = tonumber(first or ''), tonumber(last or '')
  if not (first and last and first <= last and last < 9007199254740991)
    or (buried ~= '' and not string.find(buried, '^ %d+ %S')) then
    return nil, 'BADFENCE the fence of this lock is not one of ours'
  end
  return first, last, holder, released, buried
end

local function store(key, first, last, holder, released, buried)
  redis.call('SET', key,
    string.format('%016.0f %016.0f %s %s%s', first, last, holder, released, buried), 'PX', RETENTION)
end

-- bury adds an owner to the buried, last of its kind. At most fifteen others stay
-- with it: more would make the fence long for nothing. Those who gave up and those
-- who released do not drive each other out: the latter come by the thousand.
local function bury(buried, owner, now, released)
  local gave_up, left = {}, {}
  local list = gave_up
  for o in string.gmatch(string.gsub(buried, '^ %d+', ''), '%S+') do
    if o == '-' then
      list = left
    elseif o ~= owner or (list == left) ~= released then
      list[#list + 1] = o
    end
  end
  list = released and left or gave_up
  list[#list + 1] = owner
  local text = string.format(' %.0f', now)
  if #gave_up > 0 then
    text = text .. ' ' .. table.concat(gave_up, ' ', math.max(1, #gave_up - 15))
  end
  if #left > 0 then
    text = text .. ' - ' .. table.concat(left, ' ', math.max(1, #left - 15))
  end
  return text
end

-- is_buried reports whether the owner is among the buried, of either kind.
local function is_buried(buried, owner)
  return buried ~= '' and string.find(buried .. ' ', ' ' .. owner .. ' ', 1, true) ~= nil
end

-- The server's time in microseconds, asked for once.
local at
local function time()
  if not at then
    local clock = redis.call('TIME')
    at = clock[1] * 1000000 + clock[2]
  end
  return at
end

-- refusal returns the reply to a refused request: how many milliseconds others will
-- have the lock. If there is only one holder, the reply also has for how many
-- microseconds it has held the lock, which is known if the fence belongs to that owner,
-- and its name, which is the part of the owner behind the UUID.
local function refusal(ms, owner, text)
  local line = '0 ' .. ms
  if type(owner) ~= 'string' or owner == '' or #owner > 128 then
    return line
  end
  local held = -1
  if type(text) == 'string' then
    local last, holder = string.match(text, '^%d+ (%d+) (%S+) ')
    if holder == owner then
      held = math.max(time() - last, 0)
    end
  end
  local name = string.match(owner, '^%x+%-%x+%-%x+%-%x+%-%x+@([%w._/%-]+)$') or ''
  return line .. string.format(' %.0f %s', held, name)
end
