-- micros returns the time of the server, in microseconds since 1970.
local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
