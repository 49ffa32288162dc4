-- micros returns the server's time in microseconds.
local function micros()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end
