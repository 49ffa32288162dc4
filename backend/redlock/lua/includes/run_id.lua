-- run_id returns the name of the server's process. Without the right to call INFO it is
-- false, and only the marker says that the data is gone.
local function run_id()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)')
end
