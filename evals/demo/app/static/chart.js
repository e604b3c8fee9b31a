// Draws one line per team on the canvas; names, values and colours exist only as pixels.
const canvas = document.getElementById("response");
const series = JSON.parse(canvas.dataset.series);
const pen = canvas.getContext("2d");
const colours = ["#b3372f", "#1f5f8b", "#d98a2b", "#2f7f79"];
const days = ["Mon", "Tue", "Wed", "Thu", "Fri"];
const x = (day) => 50 + day * 120;
const y = (minutes) => 260 - minutes * 2.6;
pen.font = "12px 'DejaVu Sans', 'Liberation Sans', Verdana, sans-serif";
pen.textAlign = "right";
for (let minutes = 0; minutes <= 80; minutes += 20) {
  pen.strokeStyle = "#d9d4c8";
  pen.beginPath();
  pen.moveTo(50, y(minutes));
  pen.lineTo(530, y(minutes));
  pen.stroke();
  pen.fillStyle = "#6d7683";
  pen.fillText(minutes, 40, y(minutes) + 4);
}
pen.textAlign = "center";
days.forEach((day, place) => pen.fillText(day, x(place), 284));
Object.entries(series).forEach(([team, values], place) => {
  pen.strokeStyle = pen.fillStyle = colours[place];
  pen.lineWidth = 2.5;
  pen.beginPath();
  values.forEach((minutes, day) => pen.lineTo(x(day), y(minutes)));
  pen.stroke();
  values.forEach((minutes, day) => pen.fillRect(x(day) - 4, y(minutes) - 4, 8, 8));
  pen.fillRect(560, 40 + place * 30, 16, 16);
  pen.textAlign = "left";
  pen.fillStyle = "#23303f";
  pen.fillText(team, 584, 53 + place * 30);
});
