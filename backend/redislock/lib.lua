-- The fence of a lock, the time, and refusals. Follows after acquire.lua, release.lua or
-- preamble.lua, which define n and RETENTION.
--
-- Three rules apply to every script. First, the first write for a lock decides: Redis does
-- not roll back, so everything that may be refused is checked before anything is written.
-- Second, messages are sent last, for the same reason. Third, a number is converted to text
-- only with string.format('%.0f'): when Redis concatenates 1789000000123456, the text is
-- "1.7890000001235e+15".

-- read returns the value of a key: nil if there is none, a table if it is an error. value is
-- what MGET returned for the key. It is used only if there is one lock: in a batch, the
-- locks before this one may have changed it since. MGET returns nothing for a value that is
-- not a string.
local function read(key, value)
  if value and n == 1 then
    return value
  end
  return redis.pcall('GET', key) or nil
end

-- A fence is "<first> <last> <holder> <released>". The numbers have sixteen digits: the
-- tokens first to last were issued to holder. released is the owner that last released an
-- exclusive lock, or "-". Rarely, tombstones follow: " <us> <owner>... - <owner>...", where
-- us is the time of the last tombstone. Owners before the lone "-" were released while an
-- attempt was in doubt. Owners behind it have released a shared lock.

-- fence returns first, last, holder, released and the text of the tombstones, or nil and an
-- error. A counter that cannot be parsed is an error: to start again could issue a lower
-- token. From 2^53 on, neighbouring integers are the same double.
local function fence(key, value)
  local text = read(key, value)
  if not text then
    return 0, 0, '-', '-', ''
  elseif type(text) == 'table' then
    return nil, text.err
  end
  local first, last, holder, released, tombstones =
    string.match(text, '^(%d+) (%d+) (%S+) (%S+)(.*)$')
  first, last = tonumber(first or ''), tonumber(last or '')
  if not (first and last and first <= last and last < 9007199254740991)
    or (tombstones ~= '' and not string.find(tombstones, '^ %d+ %S')) then
    return nil, 'BADFENCE the fence of this lock is not one of ours'
  end
  return first, last, holder, released, tombstones
end

local function store(key, first, last, holder, released, tombstones)
  redis.call('SET', key,
    string.format('%016.0f %016.0f %s %s%s', first, last, holder, released, tombstones), 'PX', RETENTION)
end

-- add_tombstone adds an owner to the tombstones. released says to which list: true for
-- owners that released a shared lock, false for owners in doubt. Each list keeps sixteen
-- owners, so that the fence stays short. There are two lists, because releases are frequent
-- and must not displace the owners in doubt.
local function add_tombstone(tombstones, owner, now, released)
  local in_doubt, left = {}, {}
  local list = in_doubt
  for o in string.gmatch(string.gsub(tombstones, '^ %d+', ''), '%S+') do
    if o == '-' then
      list = left
    elseif o ~= owner or (list == left) ~= released then
      list[#list + 1] = o
    end
  end
  list = released and left or in_doubt
  list[#list + 1] = owner
  local text = string.format(' %.0f', now)
  if #in_doubt > 0 then
    text = text .. ' ' .. table.concat(in_doubt, ' ', math.max(1, #in_doubt - 15))
  end
  if #left > 0 then
    text = text .. ' - ' .. table.concat(left, ' ', math.max(1, #left - 15))
  end
  return text
end

-- is_tombstoned reports whether the owner is in either list of the tombstones.
local function is_tombstoned(tombstones, owner)
  return tombstones ~= '' and string.find(tombstones .. ' ', ' ' .. owner .. ' ', 1, true) ~= nil
end

-- time returns the server's time in microseconds: the same in one script call.
local at
local function time()
  if not at then
    local clock = redis.call('TIME')
    at = clock[1] * 1000000 + clock[2]
  end
  return at
end

-- refusal returns the reply to a refused request: the milliseconds until the lease of the
-- holders ends. If there is one holder, two more values follow. The first is for how many
-- microseconds it has held the lock, which is known if text, the fence, is about this owner.
-- The second is the holder's name, which is the part of the owner after the UUID.
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
