-- Telling locks from other strings.

-- parse returns the owner and the token of an exclusive lock. The value of a lock of another
-- library is all owner. value_is_lock reports whether the value is a lock for certain: it
-- expires, and is an owner with a token, or a UUID with or without a name. A waiter in the
-- queue proves nothing: it may wait for a value that an application keeps at the key.
local function parse(value)
  local owner, token = string.match(value, '^(%S+) (~?%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)$')
  return owner or value, token or ''
end

local function value_is_lock(lock, value)
  local owner, token = parse(value)
  local x4 = '%x%x%x%x'
  local uuid = '^' .. x4 .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. x4 .. x4
  return (token ~= '' or string.find(owner, uuid .. '$') or string.find(owner, uuid .. '@[%w._/%-]+$')) ~= nil
    and redis.call('PTTL', lock) > 0
end
